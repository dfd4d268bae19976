import { Clock, Duration, Effect, Exit, Fiber, Result, type Scope, Tracer } from "effect"
import { boundsOf, type Principal } from "../../domain/accounts/Principal.ts"
import {
  type InternalError,
  internalError,
  type PageUnreadable,
  UnsupportedParameter,
  type UpstreamError,
  type UpstreamTimeout
} from "../../domain/errors.ts"
import { forbiddenTarget } from "../../domain/keys/KeyBounds.ts"
import type { LogEntry, LoggedRefusal } from "../../domain/log/LogEntry.ts"
import { LinkBudget } from "../../domain/pages/PageLinks.ts"
import { unsentRow } from "../../domain/providers/Unsent.ts"
import type { BatchBody } from "../../domain/search/BulkResult.ts"
import type { InvalidSearch } from "../../domain/search/SearchRequest.ts"
import type { AnyTarget } from "../../domain/search/Target.ts"
import type { Ids } from "../Ids.ts"
import { Attempts } from "../providers/Attempts.ts"
import { requestId } from "../telemetry/CurrentRecord.ts"
import { sampledSpan } from "../telemetry/Tracing.ts"
import { deadlineIn } from "./Deadlines.ts"
import type { BatchEnd, LogPlace } from "./DispatchedSearch.ts"

export type AnyRowBody = { readonly status: "ok" } | { readonly status: "error"; readonly error: string }

export type RowFailure = InvalidSearch | UpstreamError | UpstreamTimeout | PageUnreadable | InternalError

export type AskedRows<Q> = ReadonlyArray<Result.Result<Q, RowFailure>>

/** A kind of row: `Q` is the request of a row, `D` the result of its run, and `B` its body. */
export interface RowKind<Q, D, B extends AnyRowBody> {
  readonly route: "bulk" | "pages"
  readonly spanName: string
  readonly idPrefix: "qry_" | "pag_"
  /** Limits concurrently running rows of non-streamed batches in this process (R20). */
  readonly maxRunning: number
  readonly targetOf: (request: Q) => AnyTarget
  readonly check: (rows: AskedRows<Q>) => Effect.Effect<AskedRows<Q>>
  readonly run: (principal: Principal, request: Q, attempts: Attempts, batch: BatchEnd) => Effect.Effect<D>
  /** The error of a row that asked no provider, and is therefore free and not logged (R76). */
  readonly unsent: (end: D) => RowFailure | undefined
  /** Requests with the same key share one answer within a batch (R15). */
  readonly keyOf: (request: Q) => string
  /** The result for a row that shares this one's answer; undefined if it must run itself. */
  readonly shared: (end: D) => D | undefined
  /**
   * The result of a row that was still running when its batch ended; undefined if no provider had been asked. `within`
   * is the batch's time budget.
   */
  readonly late: (
    durationMs: number,
    within: string,
    attempts: Attempts,
    refusals: ReadonlyArray<LoggedRefusal>
  ) => D | undefined
  readonly toEntry: (principal: Principal, request: Q, place: LogPlace, end: D) => LogEntry
  /** `budgets` are those of the whole response. */
  readonly toBody: (entry: LogEntry, request: Q, end: D, budgets: { readonly links: LinkBudget }) => B
  readonly errorRow: (error: RowFailure) => B
  /** Converts a batch to the text stored for replays (R44), and back. */
  readonly keep: (body: BatchBody<B>) => string
  readonly restore: (text: string) => BatchBody<B>
  readonly count: (entry: LogEntry) => Effect.Effect<void>
  readonly countFailed: (error: string) => Effect.Effect<void>
  readonly describe: (span: Tracer.Span, request: Q, withText: boolean) => void
}

export interface RowDeps<Q, D, B extends AnyRowBody> {
  readonly ids: Ids["Service"]
  readonly kind: RowKind<Q, D, B>
  readonly budget: Duration.Duration
  readonly scope: Scope.Scope
}

export interface Row<Q, D> {
  /** The 0-based position in the request. */
  readonly index: number
  readonly attempts: Attempts
  state: RowState<Q, D>
  /** Undefined before the row starts, and if the trace is not sampled. */
  span: Tracer.Span | undefined
  /** Undefined if the row was still running when the batch ended. */
  endedAtNanos: bigint | undefined
  /** The log entry of a dispatched row, set when the batch ends. */
  entry: LogEntry | undefined
}

type RowState<Q, D> =
  | { readonly _tag: "rejected"; readonly error: RowFailure }
  | { readonly _tag: "waiting"; readonly request: Q }
  | { readonly _tag: "running"; readonly request: Q; readonly since: number }
  | { readonly _tag: "done"; readonly request: Q; readonly exit: Exit.Exit<D> }

export interface Batch<Q, D> {
  readonly id: string
  readonly principal: Principal
  readonly rows: ReadonlyArray<Row<Q, D>>
  /** Valid rows that no worker has taken yet. */
  readonly waiting: Array<Row<Q, D>>
  /** Answers shared with identical rows, by `keyOf`, even without a cache. */
  readonly answers: Map<string, D>
  readonly budgets: { readonly links: LinkBudget }
  /** No further row may start, because the caller left or the batch ended. */
  isStopped: boolean
  /** The states of the rows are final, and running rows must not change them. */
  hasEnded: boolean
}

/** Rejects rows whose target the key may not use (R50). */
const rejectForbidden = <Q, D, B extends AnyRowBody>(
  { targetOf }: RowKind<Q, D, B>,
  principal: Principal,
  rows: AskedRows<Q>
): AskedRows<Q> => {
  const allowed = boundsOf(principal)?.targets
  if (allowed === undefined) return rows
  return rows.map((row) => {
    const target = Result.isSuccess(row) ? targetOf(row.success) : undefined
    return target === undefined || allowed.includes(target) ? row : Result.fail(forbiddenTarget(target, allowed))
  })
}

export const newBatch = Effect.fnUntraced(function* <Q, D, B extends AnyRowBody>(
  { ids, kind }: RowDeps<Q, D, B>,
  principal: Principal,
  asked: AskedRows<Q>
) {
  const id = yield* ids.make("bat_")
  const checked = yield* kind.check(rejectForbidden(kind, principal, asked))
  const all = checked.map(
    (row, index): Row<Q, D> => ({
      index,
      attempts: new Attempts(),
      state: Result.isSuccess(row)
        ? { _tag: "waiting", request: row.success }
        : { _tag: "rejected", error: row.failure },
      span: undefined,
      endedAtNanos: undefined,
      entry: undefined
    })
  )
  const waiting = all.filter(({ state }) => state._tag === "waiting")
  const batch: Batch<Q, D> = {
    id,
    principal,
    rows: all,
    waiting,
    answers: new Map(),
    budgets: { links: new LinkBudget() },
    isStopped: false,
    hasEnded: false
  }
  return batch
})

/** With at least this many workers, 50 rows of 6 seconds fit into the budget (R20). */
const minConcurrency = 5

const concurrencyOf = (principal: Principal): number =>
  principal._tag === "demo" ? minConcurrency : Math.max(principal.account.concurrency, minConcurrency)

/**
 * Runs the rows until all are done or the budget ends, including the time that the batch waits for capacity. Then the
 * `state` of each row is final. Running rows are interrupted without waiting for them, because a provider that ignores
 * the interruption would delay the response.
 */
export const runRows = Effect.fnUntraced(function* <Q, D, B extends AnyRowBody>(
  deps: RowDeps<Q, D, B>,
  batch: Batch<Q, D>,
  hooks: RowHooks<Q, D>
) {
  const count = Math.min(concurrencyOf(batch.principal), batch.waiting.length)
  const end: BatchEnd = {
    deadline: yield* Clock.clockWith((clock) => Effect.succeed(deadlineIn(clock, Duration.toMillis(deps.budget)))),
    within: Duration.format(deps.budget)
  }
  const run = Effect.all(
    Array.from({ length: count }, () => runWorker(deps, batch, hooks, end)),
    { concurrency: "unbounded", discard: true }
  )
  const workers = yield* hooks.admit(run, count).pipe(Effect.interruptible, Effect.forkIn(deps.scope))
  const wait = yield* Effect.exit(Effect.interruptible(Effect.timeoutOption(Fiber.await(workers), deps.budget)))
  batch.isStopped = true
  batch.hasEnded = true
  const now = yield* Clock.currentTimeMillis
  for (const { attempts } of batch.rows) attempts.cutOff(now)
  yield* Effect.forkIn(Fiber.interrupt(workers), deps.scope)
  if (Exit.isSuccess(wait)) return
  // The process is shutting down. Running rows are not charged, because no provider was late.
  for (const row of batch.rows) {
    if (row.state._tag === "running") row.state = { _tag: "waiting", request: row.state.request }
  }
})

export interface RowHooks<Q, D> {
  /** Runs the given number of workers once there is capacity. */
  readonly admit: (workers: Effect.Effect<void>, count: number) => Effect.Effect<void>
  readonly beforeStart: Effect.Effect<void>
  /** Called when a row is done, unless the batch has ended. The worker then continues. */
  readonly onDone: (row: Row<Q, D>) => Effect.Effect<unknown>
}

/** Rows that are still waiting when the batch stops were never dispatched. */
const runWorker = Effect.fnUntraced(function* <Q, D, B extends AnyRowBody>(
  deps: RowDeps<Q, D, B>,
  batch: Batch<Q, D>,
  hooks: RowHooks<Q, D>,
  end: BatchEnd
) {
  const clock = yield* Clock.Clock
  while (batch.waiting.length > 0) {
    yield* hooks.beforeStart
    const row = batch.isStopped ? undefined : batch.waiting.shift()
    if (row?.state._tag !== "waiting") return
    const { request } = row.state
    row.state = { _tag: "running", request, since: clock.currentTimeMillisUnsafe() }
    const run = runOnce(deps, batch, request, row.attempts, end)
    if ((yield* sampledSpan) !== undefined) row.span = yield* Effect.makeSpan("quarry.row")
    const exit = yield* Effect.exit(
      row.span === undefined ? run : Effect.provideService(run, Tracer.ParentSpan, row.span)
    )
    if (batch.hasEnded) return
    row.state = { _tag: "done", request, exit }
    if (row.span !== undefined) row.endedAtNanos = clock.currentTimeNanosUnsafe()
    if (Exit.isFailure(exit) && Exit.hasDies(exit)) yield* Effect.logError("Row failed", exit.cause)
    yield* hooks.onDone(row)
  }
})

/** Identical rows share an answer but not a failure (R15). */
const runOnce = <Q, D, B extends AnyRowBody>(
  { kind }: RowDeps<Q, D, B>,
  { answers, principal }: Batch<Q, D>,
  request: Q,
  attempts: Attempts,
  batchEnd: BatchEnd
): Effect.Effect<D> => {
  const key = kind.keyOf(request)
  const answer = answers.get(key)
  if (answer !== undefined) return Effect.succeed(answer)
  return Effect.map(kind.run(principal, request, attempts, batchEnd), (end) => {
    const shared = kind.shared(end)
    if (shared !== undefined) answers.set(key, shared)
    return end
  })
}

/** The log entry is undefined if the row was not dispatched. */
export const endRow = Effect.fnUntraced(function* <Q, D, B extends AnyRowBody>(
  { budget, ids, kind }: RowDeps<Q, D, B>,
  batch: Batch<Q, D>,
  row: Row<Q, D>,
  nowMs: number
) {
  const ended = endOf(kind, row, nowMs, Duration.format(budget))
  if (Result.isFailure(ended)) return kind.errorRow(ended.failure)
  const { end, request } = ended.success
  const place = {
    id: yield* ids.make(kind.idPrefix),
    batchId: batch.id,
    rowIndex: row.index,
    requestId: yield* requestId
  }
  const entry = kind.toEntry(batch.principal, request, place, end)
  row.entry = entry
  return kind.toBody(entry, request, end, batch.budgets)
})

/** For a replay by a key that may use the row's target, although the first request's key could not (R44). */
const forbiddenToFirst = new UnsupportedParameter({
  message:
    "The first request with this Idempotency-Key used an API key that cannot use this row's target. " +
    "Send this row again with a new Idempotency-Key."
})

/** Hides what the replaying key may not see: the first request may have used another key of the account (R50). */
export const replayRow = <Q, D, B extends AnyRowBody>(
  { errorRow }: RowKind<Q, D, B>,
  { state }: Row<Q, D>,
  first: B
): B => {
  if (state._tag === "rejected" && state.error._tag === "unsupported_parameter") return errorRow(state.error)
  const wasForbidden = first.status === "error" && first.error === "unsupported_parameter"
  return wasForbidden && state._tag === "waiting" ? errorRow(forbiddenToFirst) : first
}

const endOf = <Q, D, B extends AnyRowBody>(
  kind: RowKind<Q, D, B>,
  { attempts, state }: Row<Q, D>,
  nowMs: number,
  within: string
): Result.Result<{ readonly request: Q; readonly end: D }, RowFailure> => {
  switch (state._tag) {
    case "rejected":
      return Result.fail(state.error)
    case "waiting":
      return Result.fail(unsentRow(within))
    case "running": {
      const end = kind.late(nowMs - state.since, within, attempts, attempts.refusals(true, nowMs))
      return end === undefined ? Result.fail(unsentRow(within)) : Result.succeed({ request: state.request, end })
    }
    case "done": {
      if (Exit.isFailure(state.exit)) return Result.fail(internalError)
      const unsent = kind.unsent(state.exit.value)
      return unsent === undefined
        ? Result.succeed({ request: state.request, end: state.exit.value })
        : Result.fail(unsent)
    }
  }
}
