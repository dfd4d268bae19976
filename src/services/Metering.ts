import { Effect, Metric } from "effect"
import type { Allowance } from "../domain/Account.ts"
import type { QuotaExceeded } from "../domain/errors.ts"
import type { LogEntry } from "../domain/LogEntry.ts"
import type { Principal } from "../domain/Principal.ts"
import { Ledger } from "./Ledger.ts"
import { creditsCharged, creditsRefused, creditsReturned } from "./Metrics.ts"
import { QueryLog } from "./QueryLog.ts"
import { withSpan } from "./Tracing.ts"

/** What a response cost, and what the account could spend around it. */
export interface Receipt {
  readonly creditsUsed: number
  /** As the request arrived; undefined where no account pays. */
  readonly before: Allowance | undefined
  /** Pack credits left after the response. */
  readonly balance: number
}

/** Searches that may run: their credits are held, and `settle` ends the hold, once. */
export interface OpenHold {
  /** Charges and logs what was dispatched and gives the rest back. */
  readonly settle: (entries: ReadonlyArray<LogEntry>) => Effect.Effect<Receipt>
}

/** What of a request's time went to the ledger, in milliseconds. */
export interface LedgerTimings {
  readonly reserveMs: number
  readonly settleMs: number
}

/** How the principals pay: accounts through the ledger, the demo not at all. */
export const makeMetering = Effect.gen(function* () {
  // An alert needs the zero: the first increase of a counter that is not there yet is none.
  yield* Metric.update(creditsRefused.of(), 0)
  yield* Metric.update(creditsReturned.of(), 0)
  const ledger = yield* Ledger
  const queryLog = yield* QueryLog

  const free: OpenHold = {
    settle: (entries) => Effect.as(queryLog.append(entries), { creditsUsed: 0, before: undefined, balance: 0 })
  }

  /** Takes the credits of `searches`, or refuses them all. */
  const reserve = Effect.fnUntraced(function* (
    principal: Principal,
    searches: number
  ): Effect.fn.Return<OpenHold, QuotaExceeded> {
    if (principal._tag === "demo") return free
    const { account } = principal
    const hold = yield* withSpan("Ledger.reserve", { attributes: { "quarry.credits": searches } }, () =>
      Effect.tapError(ledger.reserve(account, searches), () => Metric.update(creditsRefused.of(), searches))
    )
    return {
      settle: (entries) =>
        withSpan("Ledger.settle", { attributes: { "quarry.searches": entries.length } }, () =>
          ledger.settle(hold, entries)
        ).pipe(
          Effect.tap(({ charged }) => countCredits(entries, searches - charged)),
          Effect.map(({ balance, charged }) => ({ creditsUsed: charged, before: hold.before, balance })),
          // The credits have gone back already: nothing was charged, and the request is a fault of ours.
          Effect.orDie
        )
    }
  })

  /** The receipt of a request that ran nothing. */
  const nothing = (principal: Principal): Effect.Effect<Receipt> =>
    principal._tag === "demo"
      ? free.settle([])
      : Effect.map(ledger.allowance(principal.account), (before) => ({
          creditsUsed: 0,
          before,
          balance: before.balance
        }))

  return { reserve, nothing }
})

const countCredits = (entries: ReadonlyArray<LogEntry>, returned: number): Effect.Effect<void> =>
  Effect.andThen(
    Effect.forEach(entries, ({ credits, request }) => Metric.update(creditsCharged.of(request.target), credits), {
      discard: true
    }),
    returned === 0 ? Effect.void : Metric.update(creditsReturned.of(), returned)
  )
