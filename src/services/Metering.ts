import { Effect, Metric } from "effect"
import type { Allowance } from "../domain/Account.ts"
import type { IdempotencyInProgress, InvalidRequest, QuotaExceeded } from "../domain/errors.ts"
import type { LogEntry } from "../domain/LogEntry.ts"
import { type AccountPrincipal, boundsOf, type Principal } from "../domain/Principal.ts"
import { holdOrAnswer } from "./Idempotency.ts"
import { type Hold, type KeyedRequest, Ledger } from "./Ledger.ts"
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
  /** True where the response repeats one that was charged (R44). */
  readonly isReplay?: true
}

/** The answer of the first request with an idempotency key, which is charged already (R44). */
export interface Replay {
  readonly text: string
  readonly receipt: Receipt
}

/** A hold for searches that may run. `settle` must be called exactly once. */
export interface OpenHold {
  /** The allowance before the hold; undefined where no account pays. */
  readonly before: Allowance | undefined
  /** Charges and logs one search, and leaves the rest held. */
  readonly settlePart: (entry: LogEntry) => Effect.Effect<void>
  /**
   * Charges and logs the dispatched searches that `settlePart` has not, and returns the rest. `keep` makes the text that
   * is kept for replays; it is called where the request has an idempotency key.
   */
  readonly settle: (entries: ReadonlyArray<LogEntry>, keep?: () => string) => Effect.Effect<Receipt>
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
    before: undefined,
    settlePart: (entry) => queryLog.append([entry]),
    settle: (entries) => Effect.as(queryLog.append(entries), { creditsUsed: 0, before: undefined, balance: 0 })
  }

  const reserveSpan =
    (searches: number) =>
    <A, E>(reservation: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      withSpan("Ledger.reserve", { attributes: { "quarry.credits": searches } }, () =>
        Effect.tapError(reservation, () => Metric.update(creditsDenied.of(), searches))
      )

  /** Takes a credit for each search, or fails without taking any. */
  const reserve = (principal: Principal, searches: number): Effect.Effect<OpenHold, QuotaExceeded> =>
    principal._tag === "demo"
      ? Effect.succeed(free)
      : Effect.map(
          reserveSpan(searches)(ledger.reserve(principal.account, searches, boundsOf(principal)?.budgetId)),
          (hold) => openHold(ledger, hold, searches)
        )

  /** `reserve` for a request with an idempotency key, whose first answer comes instead of a hold where there is one. */
  const reserveKeyed = Effect.fnUntraced(function* (
    principal: AccountPrincipal,
    searches: number,
    request: KeyedRequest
  ): Effect.fn.Return<OpenHold | Replay, QuotaExceeded | InvalidRequest | IdempotencyInProgress> {
    const { account } = principal
    const reservation = yield* reserveSpan(searches)(
      ledger.reserveKeyed(account, searches, request, boundsOf(principal)?.budgetId)
    )
    const it = yield* holdOrAnswer(reservation)
    if ("hold" in it) return openHold(ledger, it.hold, searches, request)
    const { allowance, text } = it
    return { text, receipt: { creditsUsed: 0, before: allowance, balance: allowance.balance, isReplay: true } }
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

  return { reserve, reserveKeyed, emptyReceipt }
})

/** Counts what is charged of a hold while it is settled, in parts or at once. */
const openHold = (ledger: Ledger["Service"], hold: Hold, searches: number, request?: KeyedRequest): OpenHold => {
  let chargedInParts = 0
  return {
    before: hold.before,
    // Without a span of its own: the row's span is linked with the statement.
    settlePart: (entry) =>
      ledger.settlePart(hold, entry).pipe(
        Effect.tap(() => {
          chargedInParts += entry.credits
          return countCredits([entry], 0)
        }),
        Effect.orDie
      ),
    settle: (entries, keep) =>
      withSpan("Ledger.settle", { attributes: { "quarry.searches": entries.length } }, () =>
        request === undefined || keep === undefined
          ? ledger.settle(hold, entries)
          : ledger.settle(hold, entries, { request, text: keep() })
      ).pipe(
        Effect.tap(({ charged }) => countCredits(entries, searches - chargedInParts - charged)),
        Effect.map(({ balance, charged }) => ({
          creditsUsed: chargedInParts + charged,
          before: hold.before,
          balance
        })),
        // The hold has expired and its credits are returned: the request fails with a 500, uncharged.
        Effect.orDie
      )
  }
}

const countCredits = (entries: ReadonlyArray<LogEntry>, returned: number): Effect.Effect<void> =>
  Effect.andThen(
    Effect.forEach(entries, ({ credits, request }) => Metric.update(creditsCharged.of(request.target), credits), {
      discard: true
    }),
    returned === 0 ? Effect.void : Metric.update(creditsReturned.of(), returned)
  )
