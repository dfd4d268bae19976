import { Effect, Metric } from "effect"
import { type AccountPrincipal, boundsOf, type Principal } from "../../domain/accounts/Principal.ts"
import type { Allowance } from "../../domain/credits/Allowance.ts"
import type { IdempotencyInProgress, InvalidRequest, Unauthorized } from "../../domain/errors.ts"
import type { LogEntry } from "../../domain/log/LogEntry.ts"
import type { RecordFields } from "../../domain/requests/RequestRecord.ts"
import { holdOrAnswer } from "../search/Idempotency.ts"
import { QueryLog } from "../search/QueryLog.ts"
import { addFields, CurrentRecord } from "../telemetry/CurrentRecord.ts"
import { creditsCharged, creditsDenied, creditsReturned } from "../telemetry/Metrics.ts"
import { withSpan } from "../telemetry/Tracing.ts"
import { type Hold, type KeyedRequest, Ledger, type ReserveError } from "./Ledger.ts"

export interface Receipt {
  readonly creditsUsed: number
  /** The allowance before the request; undefined if no account pays. */
  readonly before: Allowance | undefined
  readonly balance: number
  /** The response repeats one that was already charged (R44). */
  readonly isReplay?: true
}

export interface Replay {
  readonly text: string
  readonly receipt: Receipt
}

/** `settle` must be called exactly once. */
export interface OpenHold {
  readonly before: Allowance | undefined
  /** Logs one search or page and charges its cost. The rest stays held. */
  readonly settlePart: (entry: LogEntry) => Effect.Effect<void>
  /** Charges the remaining entries and returns the rest. `keep` is called only with an idempotency key. */
  readonly settle: (entries: ReadonlyArray<LogEntry>, keep?: () => string) => Effect.Effect<Receipt>
}

export interface LedgerTimings {
  readonly reserveMs: number
  readonly settleMs: number
}

/** Reserves and settles credits. Accounts pay through the ledger; the demo is free (R24). */
export const makeMetering = Effect.gen(function* () {
  // Exported with 0 at the start. Otherwise Prometheus would not see the first increase.
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

  /** Reserves one credit per search, or fails without reserving any. */
  const reserve = (principal: Principal, searches: number): Effect.Effect<OpenHold, ReserveError> =>
    principal._tag === "demo"
      ? Effect.succeed(free)
      : Effect.map(
          reserveSpan(searches)(ledger.reserve(principal.account, searches, boundsOf(principal)?.budgetId)),
          (hold) => openHold({ ledger, queryLog }, hold, searches)
        )

  /** `reserve` for a request with an idempotency key. Returns the first response if it was charged. */
  const reserveKeyed = Effect.fnUntraced(function* (
    principal: AccountPrincipal,
    searches: number,
    request: KeyedRequest
  ): Effect.fn.Return<OpenHold | Replay, ReserveError | InvalidRequest | IdempotencyInProgress> {
    const { account } = principal
    const reservation = yield* reserveSpan(searches)(
      ledger.reserveKeyed(account, searches, request, boundsOf(principal)?.budgetId)
    )
    const outcome = yield* holdOrAnswer(reservation)
    if ("hold" in outcome) return openHold({ ledger, queryLog }, outcome.hold, searches, request)
    const { allowance, text } = outcome
    return { text, receipt: { creditsUsed: 0, before: allowance, balance: allowance.balance, isReplay: true } }
  })

  const emptyReceipt = (principal: Principal): Effect.Effect<Receipt, Unauthorized> =>
    principal._tag === "demo"
      ? free.settle([])
      : Effect.map(ledger.allowance(principal.account), (before) => ({
          creditsUsed: 0,
          before,
          balance: before.balance
        }))

  return { reserve, reserveKeyed, emptyReceipt }
})

interface Books {
  readonly ledger: Ledger["Service"]
  readonly queryLog: QueryLog["Service"]
}

const openHold = ({ ledger, queryLog }: Books, hold: Hold, searches: number, request?: KeyedRequest): OpenHold => {
  let chargedInParts = 0
  return {
    before: hold.before,
    // Has no span: the row's span is linked to the statement.
    settlePart: (entry) =>
      (entry.credits === 0 ? queryLog.append([entry]) : ledger.settlePart(hold, entry)).pipe(
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
        // The hold expired and its credits were returned, so the request fails with 500 and is not charged.
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

/** Adds a charge to the request's record, with more fields. A request that searches and then reads pages has two. */
export const recordCharge = (
  { creditsUsed, isReplay }: Receipt,
  { reserveMs, settleMs }: LedgerTimings,
  fields: RecordFields = {}
): Effect.Effect<void> =>
  Effect.flatMap(CurrentRecord, (record) =>
    addFields({
      ...fields,
      credits: (record?.fields.credits ?? 0) + creditsUsed,
      ...(isReplay === undefined ? {} : { replayed: isReplay }),
      reserve_ms: reserveMs,
      settle_ms: settleMs
    })
  )
