import { Clock, Effect, Metric } from "effect"
import { type AccountPrincipal, boundsOf, type Principal } from "../../domain/accounts/Principal.ts"
import type { Allowance } from "../../domain/credits/Allowance.ts"
import type { IdempotencyInProgress, InvalidRequest } from "../../domain/errors.ts"
import type { LogEntry } from "../../domain/log/LogEntry.ts"
import type { RecordFields } from "../../domain/requests/CurrentRequest.ts"
import { CurrentRequest } from "../../domain/requests/CurrentRequest.ts"
import { type Hold, type KeyedRequest, Ledger, type ReserveError } from "../credits/Ledger.ts"
import { creditsCharged, creditsDenied, creditsReturned } from "../telemetry/Metrics.ts"
import { addFields } from "../telemetry/recording.ts"
import { withSpan } from "../telemetry/Tracing.ts"
import { holdOrAnswer } from "./Idempotency.ts"
import { QueryLog } from "./QueryLog.ts"

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

/** Returns the first response if the request's idempotency key was used before. */
export type Reserve<E> = (searches: number) => Effect.Effect<OpenHold | Replay, E>

/**
 * Reserves and settles credits, and adds the charge and its timings to the request's record. Accounts pay through the
 * ledger; the demo is free (R24).
 */
export const makeMetering = Effect.gen(function* () {
  // Exported with 0 at the start. Otherwise Prometheus would not see the first increase.
  yield* Metric.update(creditsDenied.of(), 0)
  yield* Metric.update(creditsReturned.of(), 0)
  const ledger = yield* Ledger
  const queryLog = yield* QueryLog

  const books = { ledger, queryLog }

  const reserveSpan =
    (searches: number) =>
    <A, E>(reservation: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      timed((ms) => ({ reserve_ms: ms }))(
        withSpan("Ledger.reserve", { attributes: { "quarry.credits": searches } }, () =>
          Effect.tapError(reservation, () => Metric.update(creditsDenied.of(), searches))
        )
      )

  /** Reserves one credit per search, or fails without reserving any. Without searches, it only reads the allowance. */
  const reserve = (principal: Principal, searches: number): Effect.Effect<OpenHold, ReserveError> => {
    if (principal._tag === "demo") return Effect.succeed(freeHold(queryLog))
    const { account } = principal
    return searches === 0
      ? Effect.map(ledger.allowance(account), emptyHold)
      : Effect.map(reserveSpan(searches)(ledger.reserve(account, searches, boundsOf(principal)?.budgets)), (hold) =>
          openHold(books, hold, searches)
        )
  }

  /** `reserve` for a request with an idempotency key. Returns the first response if it was charged. */
  const reserveKeyed = Effect.fnUntraced(function* (
    principal: AccountPrincipal,
    searches: number,
    request: KeyedRequest
  ): Effect.fn.Return<OpenHold | Replay, ReserveError | InvalidRequest | IdempotencyInProgress> {
    if (searches === 0) return yield* reserve(principal, 0)
    const { account } = principal
    const reservation = yield* reserveSpan(searches)(
      ledger.reserveKeyed(account, searches, request, boundsOf(principal)?.budgets)
    )
    const outcome = yield* holdOrAnswer(reservation)
    if ("hold" in outcome) return openHold(books, outcome.hold, searches, request)
    const { allowance, text } = outcome
    const replay: Replay = {
      text,
      receipt: { creditsUsed: 0, before: allowance, balance: allowance.balance, isReplay: true }
    }
    yield* recordCharge(replay.receipt)
    return replay
  })

  return { reserve, reserveKeyed }
})

interface Books {
  readonly ledger: Ledger["Service"]
  readonly queryLog: QueryLog["Service"]
}

const freeHold = (queryLog: QueryLog["Service"]): OpenHold => ({
  before: undefined,
  settlePart: (entry) => queryLog.append([entry]),
  settle: (entries) => recorded(Effect.as(queryLog.append(entries), { creditsUsed: 0, before: undefined, balance: 0 }))
})

const emptyHold = (before: Allowance): OpenHold => ({
  before,
  settlePart: () => Effect.void,
  settle: () => recorded(Effect.succeed({ creditsUsed: 0, before, balance: before.balance }))
})

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
        Effect.orDie,
        recorded
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

/** Adds the duration of an effect that succeeds to the request's record. */
const timed =
  (fieldsOf: (ms: number) => RecordFields) =>
  <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Clock.clockWith((clock) => {
      const startedAt = clock.currentTimeMillisUnsafe()
      return Effect.tap(effect, () => addFields(fieldsOf(clock.currentTimeMillisUnsafe() - startedAt)))
    })

/** Adds a charge to the request's record. A request that searches and then reads pages has two. */
const recordCharge = ({ creditsUsed, isReplay }: Receipt): Effect.Effect<void> =>
  Effect.flatMap(CurrentRequest, ({ fields }) =>
    addFields({
      credits: (fields.credits ?? 0) + creditsUsed,
      ...(isReplay === undefined ? {} : { replayed: isReplay })
    })
  )

const recorded = (settlement: Effect.Effect<Receipt>): Effect.Effect<Receipt> =>
  timed((ms) => ({ settle_ms: ms }))(Effect.tap(settlement, recordCharge))
