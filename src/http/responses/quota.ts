import { Effect } from "effect"
import type { Receipt } from "../../services/credits/Metering.ts"
import type { KeyError, SingleError } from "../../services/search/Singles.ts"
import { type RequestState, setHeaders } from "../CurrentRequest.ts"
import { quotaErrorHeaders, quotaHeaders } from "./headers.ts"

/** Adds the headers of an error for which the credits did not suffice. */
export const withQuotaOfError = <A, E extends SingleError | KeyError, R>(
  state: RequestState,
  run: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.tapError(run, (error) =>
    Effect.sync(() => {
      if (error._tag === "quota_exceeded") setHeaders(state, quotaErrorHeaders(error))
    })
  )

/** Adds the headers with the charge and the remaining credits. */
export const withQuotaHeaders = <A extends { readonly receipt: Receipt }, E extends SingleError | KeyError, R>(
  state: RequestState,
  run: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.map(withQuotaOfError(state, run), (settlement) => {
    setHeaders(state, quotaHeaders(settlement.receipt))
    return settlement
  })
