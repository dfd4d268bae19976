import { Effect, Metric } from "effect"
import type { Allowance } from "../domain/Account.ts"
import type { QuotaExceeded } from "../domain/errors.ts"
import type { LogEntry } from "../domain/LogEntry.ts"
import type { Principal } from "../domain/Principal.ts"
import { Ledger } from "./Ledger.ts"
import { creditsCharged, creditsDenied, creditsReturned } from "./Metrics.ts"
import { QueryLog } from "./QueryLog.ts"
import { withSpan } from "./Tracing.ts"

/** The cost of a response, and the account's credits before and after it. */
export interface Receipt {
  readonly creditsUsed: number
  /** The allowance before the request; undefined where no account pays. */
  readonly before: Allowance | undefined
  /** Pack credits left after the response. */
  readonly balance: number
}

/** A hold for searches that may run. `settle` must be called exactly once. */
export interface OpenHold {
  /** Charges and logs the dispatched searches, and returns the rest. */
  readonly settle: (entries: ReadonlyArray<LogEntry>) => Effect.Effect<Receipt>
}

/** The time that a request waited for the ledger, in milliseconds. */
export interface LedgerTimings {
  readonly reserveMs: number
  readonly settleMs: number
}

/** Reserves and settles credits for principals: accounts pay through the ledger, and the demo is free (R24). */
export const makeMetering = Effect.gen(function* () {
  // Exports the counters with 0 at start, because Prometheus would not see the first increase otherwise.
  yield* Metric.update(creditsDenied.of(), 0)
  yield* Metric.update(creditsReturned.of(), 0)
  const ledger = yield* Ledger
  const queryLog = yield* QueryLog

  const free: OpenHold = {
    settle: (entries) => Effect.as(queryLog.append(entries), { creditsUsed: 0, before: undefined, balance: 0 })
  }

  /** Takes a credit for each search, or fails without taking any. */
  const reserve = Effect.fnUntraced(function* (
    principal: Principal,
    searches: number
  ): Effect.fn.Return<OpenHold, QuotaExceeded> {
    if (principal._tag === "demo") return free
    const { account } = principal
    const hold = yield* withSpan("Ledger.reserve", { attributes: { "quarry.credits": searches } }, () =>
      Effect.tapError(ledger.reserve(account, searches), () => Metric.update(creditsDenied.of(), searches))
    )
    return {
      settle: (entries) =>
        withSpan("Ledger.settle", { attributes: { "quarry.searches": entries.length } }, () =>
          ledger.settle(hold, entries)
        ).pipe(
          Effect.tap(({ charged }) => countCredits(entries, searches - charged)),
          Effect.map(({ balance, charged }) => ({ creditsUsed: charged, before: hold.before, balance })),
          // The hold has expired and its credits are returned: the request fails with a 500, uncharged.
          Effect.orDie
        )
    }
  })

  /** The receipt of a request without a search. */
  const emptyReceipt = (principal: Principal): Effect.Effect<Receipt> =>
    principal._tag === "demo"
      ? free.settle([])
      : Effect.map(ledger.allowance(principal.account), (before) => ({
          creditsUsed: 0,
          before,
          balance: before.balance
        }))

  return { reserve, emptyReceipt }
})

const countCredits = (entries: ReadonlyArray<LogEntry>, returned: number): Effect.Effect<void> =>
  Effect.andThen(
    Effect.forEach(entries, ({ credits, request }) => Metric.update(creditsCharged.of(request.target), credits), {
      discard: true
    }),
    returned === 0 ? Effect.void : Metric.update(creditsReturned.of(), returned)
  )
