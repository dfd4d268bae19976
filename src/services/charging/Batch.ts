import { Clock, Duration, Effect, Exit, Fiber, Result, type Scope, Tracer } from "effect"
import type { Principal } from "../../domain/accounts/Principal.ts"
import {
  type InternalError,
  internalError,
  type PageUnreadable,
  UnsupportedParameter,
  type UpstreamError,
  type UpstreamTimeout
} from "../../domain/errors.ts"
import type { LogEntry, LogPlace } from "../../domain/log/LogEntry.ts"
import { unsentRow } from "../../domain/providers/Unsent.ts"
import type { BatchBody } from "../../domain/search/BulkResult.ts"
import type { InvalidSearch } from "../../domain/search/SearchRequest.ts"
import type { Ids } from "../Ids.ts"
import { requestId } from "../telemetry/recording.ts"
import { sampledSpan } from "../telemetry/Tracing.ts"
import { type Deadline, deadlineIn } from "../waiting/Deadlines.ts"

export type AnyRowBody = { readonly status: "ok" } | { readonly status: "error"; readonly error: string }

export type RowFailure = InvalidSearch | UpstreamError | UpstreamTimeout | PageUnreadable | InternalError

/** The rows of a request, as they were decoded. */
export type AskedRows<Q> = ReadonlyArray<Result.Result<Q, RowFailure>>

/** The end of a task that is logged, and charged unless its entry has no credits. */
export interface Outcome<B> {
  readonly entry: (place: LogPlace) => LogEntry
  /** `id` is that of the log entry. */
  readonly body: (id: string) => B
}

/** A valid row, which knows how to run. It fails with a body that is not charged if no provider was asked (R76). */
export interface Task<B> {
  readonly describe: (span: Tracer.Span, withText: boolean) => void
  /** `deadline` is the end of the batch, until which the row may wait for its turn. */
  readonly run: (deadline: Deadline) => Effect.Effect<Outcome<B>, B>
  /** The end of a row that is still running when its batch ends. Times are Unix milliseconds. */
  readonly cutOff: (startedAt: number, now: number) => Result.Result<Outcome<B>, B>
}

/** A rejected row already has its body. */
export type Rows<B> = ReadonlyArray<Result.Result<Task<B>, B>>

/** The properties of all batches of a service. */
export interface BatchKind<B extends AnyRowBody> {
  readonly spanName: string
  readonly idPrefix: "qry_" | "pag_"
  /** Limits concurrently running rows of non-streamed batches in this process (R20). */
  readonly maxRunning: number
  readonly errorRow: (error: RowFailure) => B
  /** Converts a batch to the text stored for replays (R44), and back. */
  readonly keep: (body: BatchBody<B>) => string
  readonly restore: (text: string) => BatchBody<B>
  readonly count: (entry: LogEntry) => Effect.Effect<void>
  readonly countFailed: (error: string) => Effect.Effect<void>
}

export interface RowDeps<B extends AnyRowBody> {
  readonly ids: Ids["Service"]
  readonly kind: BatchKind<B>
  readonly budget: Duration.Duration
  readonly scope: Scope.Scope
}

export interface Row<B> {
  /** The 0-based position in the request. */
  readonly index: number
  state: RowState<B>
  /** Undefined before the row starts, and if the trace is not sampled. */
  span: Tracer.Span | undefined
  /** Undefined if the row was still running when the batch ended. */
  endedAtNanos: bigint | undefined
  /** The log entry of a dispatched row, set when its body is built. */
  entry: LogEntry | undefined
}

type RowState<B> =
  | { readonly _tag: "rejected"; readonly body: B }
  | { readonly _tag: "waiting"; readonly task: Task<B> }
  | { readonly _tag: "running"; readonly task: Task<B>; readonly since: number }
  | { readonly _tag: "done"; readonly task: Task<B>; readonly end: Result.Result<Outcome<B>, B> }

export interface Batch<B> {
  readonly id: string
  readonly principal: Principal
  readonly rows: ReadonlyArray<Row<B>>
  readonly valid: ReadonlyArray<Row<B>>
  /** No further row may start, because the caller left or the batch ended. */
  isStopped: boolean
  /** The states of the rows are final, and running rows must not change them. */
  hasEnded: boolean
}

export const makeBatch = <B>(id: string, principal: Principal, asked: Rows<B>): Batch<B> => {
  const rows = asked.map(
    (row, index): Row<B> => ({
      index,
      state: Result.isSuccess(row) ? { _tag: "waiting", task: row.success } : { _tag: "rejected", body: row.failure },
      span: undefined,
      endedAtNanos: undefined,
      entry: undefined
    })
  )
  const valid = rows.filter(({ state }) => state._tag === "waiting")
  return { id, principal, rows, valid, isStopped: false, hasEnded: false }
}

/** With at least this many rows at a time, 50 rows of 6 seconds fit into the budget (R20). */
const minConcurrency = 5

const concurrencyOf = (principal: Principal): number =>
  principal._tag === "demo" ? minConcurrency : Math.max(principal.account.concurrency, minConcurrency)

export interface RowHooks<B> {
  /** Starts the rows, of which at most `count` run at a time, once there is capacity. */
  readonly admit: (rows: Effect.Effect<void>, count: number) => Effect.Effect<void>
  readonly beforeStart: Effect.Effect<void>
  /** Called when a row is done, unless the batch has ended. The next row starts afterwards. */
  readonly onDone: (row: Row<B>) => Effect.Effect<unknown>
}

/**
 * Runs the rows until all are done or the budget ends, including the time that the batch waits for capacity. Then the
 * `state` of each row is final. Running rows are interrupted without waiting for them, because a provider that ignores
 * the interruption would delay the response.
 */
export const runRows = Effect.fnUntraced(function* <B extends AnyRowBody>(
  deps: RowDeps<B>,
  batch: Batch<B>,
  hooks: RowHooks<B>
) {
  const { budget, scope } = deps
  const clock = yield* Clock.Clock
  const concurrency = Math.min(concurrencyOf(batch.principal), batch.valid.length)
  const deadline = deadlineIn(clock, Duration.toMillis(budget))
  const run = Effect.forEach(batch.valid, (row) => runRow(deps, batch, hooks, row, deadline), {
    concurrency,
    discard: true
  })
  const fiber = yield* hooks.admit(run, concurrency).pipe(Effect.interruptible, Effect.forkIn(scope))
  const wait = yield* Effect.exit(Effect.interruptible(Effect.timeoutOption(Fiber.await(fiber), budget)))
  batch.isStopped = true
  batch.hasEnded = true
  const now = clock.currentTimeMillisUnsafe()
  for (const row of batch.rows) {
    if (row.state._tag !== "running") continue
    const { since, task } = row.state
    const end = task.cutOff(since, now)
    // During a shutdown, the row is not charged, because no provider was late.
    row.state = Exit.isSuccess(wait) ? { _tag: "done", task, end } : { _tag: "waiting", task }
  }
  yield* Effect.forkIn(Fiber.interrupt(fiber), scope)
})

/** Rows that are still waiting when the batch stops were never dispatched. */
const runRow = Effect.fnUntraced(function* <B extends AnyRowBody>(
  { kind }: RowDeps<B>,
  batch: Batch<B>,
  hooks: RowHooks<B>,
  row: Row<B>,
  deadline: Deadline
) {
  yield* hooks.beforeStart
  if (batch.isStopped || row.state._tag !== "waiting") return
  const clock = yield* Clock.Clock
  const { task } = row.state
  row.state = { _tag: "running", task, since: clock.currentTimeMillisUnsafe() }
  if ((yield* sampledSpan) !== undefined) row.span = yield* Effect.makeSpan("quarry.row")
  const run = Effect.result(task.run(deadline))
  const exit = yield* Effect.exit(
    row.span === undefined ? run : Effect.provideService(run, Tracer.ParentSpan, row.span)
  )
  if (batch.hasEnded) return
  const end = Exit.isSuccess(exit) ? exit.value : Result.fail(kind.errorRow(internalError))
  row.state = { _tag: "done", task, end }
  if (row.span !== undefined) row.endedAtNanos = clock.currentTimeNanosUnsafe()
  if (Exit.isFailure(exit) && Exit.hasDies(exit)) yield* Effect.logError("Row failed", exit.cause)
  yield* hooks.onDone(row)
})

/**
 * Identical rows of a batch share an answer, even without a cache, but not a failure (R15). `toShared` returns undefined
 * for a failure.
 */
export const shareAnswer = <D>(
  answers: Map<string, D>,
  key: string,
  run: Effect.Effect<D>,
  toShared: (end: D) => D | undefined
): Effect.Effect<D> =>
  Effect.suspend(() => {
    const known = answers.get(key)
    if (known !== undefined) return Effect.succeed(known)
    return Effect.map(run, (end) => {
      const shared = toShared(end)
      if (shared !== undefined) answers.set(key, shared)
      return end
    })
  })

/** Builds the body of a row, and its log entry if it was dispatched. */
export const endRow = Effect.fnUntraced(function* <B extends AnyRowBody>(
  deps: RowDeps<B>,
  batch: Batch<B>,
  row: Row<B>
) {
  const end = endOf(deps, row)
  if (Result.isFailure(end)) return end.failure
  const id = yield* deps.ids.make(deps.kind.idPrefix)
  row.entry = end.success.entry({ id, batchId: batch.id, rowIndex: row.index, requestId: yield* requestId })
  return end.success.body(id)
})

const endOf = <B extends AnyRowBody>({ budget, kind }: RowDeps<B>, { state }: Row<B>): Result.Result<Outcome<B>, B> => {
  if (state._tag === "done") return state.end
  return Result.fail(state._tag === "rejected" ? state.body : kind.errorRow(unsentRow(Duration.format(budget))))
}

/** For a replay by a key that may use the row's target, although the first request's key could not (R44). */
const forbiddenToFirst = new UnsupportedParameter({
  message:
    "The first request with this Idempotency-Key used an API key that cannot use this row's target. " +
    "Send this row again with a new Idempotency-Key."
})

const isForbidden = (body: AnyRowBody): boolean => body.status === "error" && body.error === "unsupported_parameter"

/** Hides what the replaying key may not see: the first request may have used another key of the account (R50). */
export const replayRow = <B extends AnyRowBody>({ errorRow }: BatchKind<B>, { state }: Row<B>, first: B): B => {
  if (state._tag === "rejected" && isForbidden(state.body)) return state.body
  return isForbidden(first) && state._tag === "waiting" ? errorRow(forbiddenToFirst) : first
}
