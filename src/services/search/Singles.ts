import { Clock, type Duration, Effect, Exit, Fiber, Result, type Tracer } from "effect"
import { type AccountPrincipal, boundsOf, type Principal } from "../../domain/accounts/Principal.ts"
import type { IdempotencyInProgress, InvalidRequest, UnsupportedParameter } from "../../domain/errors.ts"
import { forbiddenTarget } from "../../domain/keys/KeyBounds.ts"
import type { LogEntry } from "../../domain/log/LogEntry.ts"
import type { RecordFields } from "../../domain/requests/RequestRecord.ts"
import type { AnyTarget } from "../../domain/search/Target.ts"
import type { ReserveError } from "../credits/Ledger.ts"
import { makeMetering, type OpenHold, type Receipt, type Replay, recordCharge } from "../credits/Metering.ts"
import { Ids } from "../Ids.ts"
import { addFields, forkRecorded, requestId } from "../telemetry/CurrentRecord.ts"
import { describeOutcome, TraceQueryText, withSpan } from "../telemetry/Tracing.ts"
import type { LogPlace } from "./DispatchedSearch.ts"
import { keyedRequest, waitForFirst } from "./Idempotency.ts"

/** A request's end: `A` is its body and `F` its failure, which may be charged too. */
export interface Settlement<A, F> {
  readonly body: Result.Result<A, F>
  readonly receipt: Receipt
  /** Undefined for replays and refused requests, which are neither charged nor logged. */
  readonly entry: LogEntry | undefined
}

/** Errors before a request runs: no credits, a key that may not use the target (R50), or unsupported options (R62). */
export type SingleError = ReserveError | UnsupportedParameter
export type KeyError = InvalidRequest | IdempotencyInProgress

/** A kind of request: `Q` is the request, and `D` the result of its run. */
export interface SingleKind<P extends Principal, Q, D, A, F extends { readonly _tag: string }> {
  readonly route: "query" | "page"
  readonly spanName: string
  readonly idPrefix: "qry_" | "pag_"
  /** Maximum wait for the first request with the same idempotency key (R44). */
  readonly patience: Duration.Duration
  readonly targetOf: (request: Q) => AnyTarget
  readonly describe: (span: Tracer.Span, request: Q, withText: boolean) => void
  /** Fails for a request that is invalid on this server. Returns the error of a request that cannot run and is free. */
  readonly check: (request: Q, principal: P) => Effect.Effect<F | undefined, UnsupportedParameter>
  readonly run: (principal: P, request: Q) => Effect.Effect<D>
  /** The error of a run that asked no provider, and is therefore free and not logged (R76). */
  readonly unsent: (end: D) => F | undefined
  readonly toEntry: (principal: P, request: Q, place: LogPlace, end: D) => LogEntry
  readonly toBody: (id: string, request: Q, end: D) => Result.Result<A, F>
  /** Converts a charged body to the text stored for replays (R44), and back. */
  readonly keep: (body: Result.Result<A, F>) => string
  readonly restore: (text: string) => Result.Result<A, F>
  readonly count: (entry: LogEntry) => Effect.Effect<void>
  readonly countUnsent: (request: Q, error: F, end: D) => Effect.Effect<void>
}

/** Runs requests of one kind, each with a hold of one credit. */
export interface Singles<P extends Principal, Q, A, F> {
  /**
   * Reserves a credit, runs the request and settles. Interrupting the caller ends only the wait: a request that was
   * dispatched is settled. After a defect, the credit is returned.
   */
  readonly run: (principal: P, request: Q) => Effect.Effect<Settlement<A, F>, SingleError>
  /**
   * `run` for a request with an idempotency key (R44): a charged request is replayed for free. While the first request
   * is running, it waits for up to the time limit of one. A caller that leaves during this wait starts nothing.
   */
  readonly runKeyed: (
    principal: P & AccountPrincipal,
    request: Q,
    key: string
  ) => Effect.Effect<Settlement<A, F>, SingleError | KeyError>
}

export const makeSingles = Effect.fnUntraced(function* <
  P extends Principal,
  Q,
  D,
  A,
  F extends { readonly _tag: string }
>(kind: SingleKind<P, Q, D, A, F>) {
  const deps = { kind, metering: yield* makeMetering, ids: yield* Ids }
  const scope = yield* Effect.scope

  // In its own fiber and span.
  const start = <E>(principal: P, request: Q, reserve: Effect.Effect<OpenHold | Replay, E>) =>
    Effect.flatMap(
      forkRecorded(
        withSpan(kind.spanName, {}, (span) => settle(deps, principal, request, reserve, span)),
        scope
      ),
      Fiber.join
    )

  const singles: Singles<P, Q, A, F> = {
    run: (principal, request) => start(principal, request, deps.metering.reserve(principal, 1)),
    runKeyed: (principal, request, key) => {
      const reserve = deps.metering.reserveKeyed(principal, 1, keyedRequest(kind.route, key, request))
      return waitForFirst(kind.patience)(start(principal, request, reserve))
    }
  }
  return singles
})

interface Deps<P extends Principal, Q, D, A, F extends { readonly _tag: string }> {
  readonly kind: SingleKind<P, Q, D, A, F>
  readonly metering: Effect.Success<typeof makeMetering>
  readonly ids: Ids["Service"]
}

/** Only the run can be interrupted, so that every hold is settled. */
const settle = Effect.fnUntraced(function* <P extends Principal, Q, D, A, F extends { readonly _tag: string }, E>(
  { ids, kind, metering }: Deps<P, Q, D, A, F>,
  principal: P,
  request: Q,
  reserve: Effect.Effect<OpenHold | Replay, E>,
  span: Tracer.Span
): Effect.fn.Return<Settlement<A, F>, E | SingleError> {
  kind.describe(span, request, yield* TraceQueryText)
  const target = kind.targetOf(request)
  yield* addFields({ target })
  const allowed = boundsOf(principal)?.targets
  if (allowed?.includes(target) === false) return yield* forbiddenTarget(target, allowed)
  const failure = yield* kind.check(request, principal)
  if (failure !== undefined) {
    return yield* uncharged(span, Result.fail(failure), yield* metering.emptyReceipt(principal), 0)
  }
  const clock = yield* Clock.Clock
  const startedAt = clock.currentTimeMillisUnsafe()
  const hold = yield* reserve
  const reserveMs = clock.currentTimeMillisUnsafe() - startedAt
  if ("text" in hold) return yield* uncharged(span, kind.restore(hold.text), hold.receipt, reserveMs)
  const exit = yield* Effect.exit(Effect.interruptible(kind.run(principal, request)))
  if (Exit.isFailure(exit)) {
    yield* hold.settle([])
    return yield* Effect.failCause(exit.cause)
  }
  const unsent = kind.unsent(exit.value)
  if (unsent !== undefined) {
    yield* kind.countUnsent(request, unsent, exit.value)
    return yield* uncharged(span, Result.fail(unsent), yield* hold.settle([]), reserveMs)
  }
  const place = {
    id: yield* ids.make(kind.idPrefix),
    batchId: undefined,
    rowIndex: undefined,
    requestId: yield* requestId
  }
  const entry = kind.toEntry(principal, request, place, exit.value)
  yield* kind.count(entry)
  describeOutcome(span, { ...entry, dispatched: true })
  const answeredAt = clock.currentTimeMillisUnsafe()
  const body = kind.toBody(entry.id, request, exit.value)
  const receipt = yield* hold.settle([entry], () => kind.keep(body))
  const settleMs = clock.currentTimeMillisUnsafe() - answeredAt
  yield* recordCharge(receipt, { reserveMs, settleMs }, fieldsOf(entry))
  return { body, receipt, entry }
}, Effect.uninterruptible)

/** Completes a request without a charge: a replay, or a request that cannot run. */
const uncharged = Effect.fnUntraced(function* <A, F extends { readonly _tag: string }>(
  span: Tracer.Span,
  body: Result.Result<A, F>,
  receipt: Receipt,
  reserveMs: number
) {
  const outcome = Result.isSuccess(body) ? "ok" : body.failure._tag
  describeOutcome(span, { outcome, credits: 0, cached: false, dispatched: false })
  yield* recordCharge(receipt, { reserveMs, settleMs: 0 })
  return { body, receipt, entry: undefined }
})

const fieldsOf = ({ cached, durationMs, page, provider }: LogEntry): RecordFields =>
  page === undefined
    ? { cached, search_ms: durationMs, ...(provider === undefined ? {} : { provider }) }
    : { cached, page_ms: durationMs, ...(page.reason === undefined ? {} : { reason: page.reason }) }
