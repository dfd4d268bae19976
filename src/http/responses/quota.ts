import { Effect } from "effect"
import type { QuotaExceeded } from "../../domain/errors.ts"
import { CurrentRequest } from "../../domain/requests/CurrentRequest.ts"
import type { SingleError } from "../../services/charging/Charge.ts"
import type { KeyError } from "../../services/charging/Idempotency.ts"
import { setHeaders } from "../requestState.ts"
import { quotaHeaders, type Spent } from "./headers.ts"

const spentOfError = ({ balance, creditsUsed, plan, quota, resetsAt }: QuotaExceeded): Spent => ({
  creditsUsed: 0,
  balance,
  before: { plan, quota, used: creditsUsed, balance, periodStart: undefined, resetsAt: resetsAt ?? undefined }
})

/** Adds the headers of the charge and the remaining credits, also to an error for which the credits did not suffice. */
export const withQuotaHeaders = <A, E extends SingleError | KeyError, R>(
  run: Effect.Effect<A, E, R>,
  spentOf: (success: A) => Spent
): Effect.Effect<A, E, R> =>
  Effect.flatMap(CurrentRequest, (state) =>
    run.pipe(
      Effect.tapError((error) =>
        Effect.sync(() => {
          if (error._tag === "quota_exceeded") setHeaders(state, quotaHeaders(spentOfError(error)))
        })
      ),
      Effect.map((success) => {
        setHeaders(state, quotaHeaders(spentOf(success)))
        return success
      })
    )
  )

export const receiptOf = <Receipt>({ receipt }: { readonly receipt: Receipt }): Receipt => receipt
