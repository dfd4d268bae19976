import { Clock, Duration, Effect, Exit, Fiber, Result, type Scope, Tracer } from "effect"
import type { Answer } from "../domain/Answer.ts"
import type { BulkRows } from "../domain/BulkRequest.ts"
import type { ErrorRow, RowBody } from "../domain/BulkResult.ts"
import { internalError, UnsupportedParameter, type UpstreamError, UpstreamTimeout } from "../domain/errors.ts"
import { forbiddenTarget } from "../domain/KeyBounds.ts"
import type { LogEntry } from "../domain/LogEntry.ts"
import { boundsOf, type Principal } from "../domain/Principal.ts"
import type { InvalidSearch, SearchRequest } from "../domain/SearchRequest.ts"
import type { Target } from "../domain/Target.ts"
import { Attempts } from "./Attempts.ts"
import { type Dispatch, type makeDispatch, toBody, toLogEntry } from "./Dispatch.ts"
import type { Ids } from "./Ids.ts"
import { type Providers, unservedError } from "./Providers.ts"
import { RequestId } from "./RequestId.ts"
import { cacheKey } from "./ResultCache.ts"
import { sampledSpan } from "./Tracing.ts"

/** The rows of a batch: how they run side by side inside one budget, and what each becomes. */

/** The services by which rows run. */
export interface RowDeps {
  readonly ids: Ids["Service"]
  readonly dispatch: Effect.Success<typeof makeDispatch>
  readonly budget: Duration.Duration
  readonly providers: Providers["Service"]
  readonly scope: Scope.Scope
}

/** One row of a batch, from the request to its end. */
export interface Row {
  /** The position in the request, from 0. */
  readonly index: number
  readonly attempts: Attempts
  state: RowState
  /** Undefined until the row starts, and where the trace is not sampled. */
  span: Tracer.Span | undefined
  /** End of the search; undefined for a row that still runs as the batch ends. */
  endedAtNanos: bigint | undefined
  /** The log entry of a dispatched row, set when the batch ends. */
  entry: LogEntry | undefined
}

/** The error of a row that is not dispatched. */
type RowError = InvalidSearch | UpstreamError

type RowState =
  | { readonly _tag: "rejected"; readonly error: RowError }
  | { readonly _tag: "waiting"; readonly request: SearchRequest }
  | { readonly _tag: "running"; readonly request: SearchRequest; readonly since: number }
  | { readonly _tag: "done"; readonly request: SearchRequest; readonly exit: Exit.Exit<Dispatch> }

export interface Batch {
  readonly id: string
  readonly principal: Principal
  /** In the order of the request. */
  readonly rows: ReadonlyArray<Row>
  /** The valid rows that no worker has taken. */
  readonly waiting: Array<Row>
  /** Answers of this batch by cache key, so that identical rows share one also without a result cache. */
  readonly answers: Map<string, Answer>
  /** No further row may start, because the caller has left or the batch has ended. */
  isStopped: boolean
  /** The states of the rows are final. A row that still runs must not change its state after this. */
  hasEnded: boolean
}

type CheckedRows = ReadonlyArray<Result.Result<SearchRequest, RowError>>

/** Rejects the rows whose target the principal's key may not use (R50). */
const rejectForbidden = (principal: Principal, rows: BulkRows): BulkRows => {
  const allowed = boundsOf(principal)?.targets
  if (allowed === undefined) return rows
  return rows.map((row) =>
    Result.isSuccess(row) && !allowed.includes(row.success.target)
      ? Result.fail(forbiddenTarget(row.success.target, allowed))
      : row
  )
}

/** Rejects the rows whose target is forbidden or nobody serves: they are not dispatched and not charged. */
const checkRows = Effect.fnUntraced(function* ({ providers }: RowDeps, principal: Principal, asked: BulkRows) {
  const rows = rejectForbidden(principal, asked)
  const targets = new Set(rows.flatMap((row) => (Result.isSuccess(row) ? [row.success.target] : [])))
  const unserved = new Set<Target>()
  for (const target of targets) if (!(yield* providers.serves(target))) unserved.add(target)
  return rows.map((row): CheckedRows[number] =>
    Result.isSuccess(row) && unserved.has(row.success.target) ? Result.fail(unservedError) : row
  )
})

export const newBatch = Effect.fnUntraced(function* (deps: RowDeps, principal: Principal, rows: BulkRows) {
  const id = yield* deps.ids.make("bat_")
  const all = (yield* checkRows(deps, principal, rows)).map(
    (row, index): Row => ({
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
  const batch: Batch = { id, principal, rows: all, waiting, answers: new Map(), isStopped: false, hasEnded: false }
  return batch
})

/** The fewest workers of a batch. With them, 50 rows of 6 seconds each fit into the budget (R20). */
const minConcurrency = 5

const concurrencyOf = (principal: Principal): number =>
  principal._tag === "demo" ? minConcurrency : Math.max(principal.account.concurrency, minConcurrency)

/**
 * Runs the rows until all are done or the budget ends, also that of a batch that waits for room. Then `state` of each
 * row is final. Rows that still run are interrupted without waiting for their end, because a provider that ignores its
 * cancellation would delay the answer.
 */
export const runRows = Effect.fnUntraced(function* (deps: RowDeps, batch: Batch, hooks: RowHooks) {
  const count = Math.min(concurrencyOf(batch.principal), batch.waiting.length)
  const run = Effect.all(
    Array.from({ length: count }, () => runWorker(deps, batch, hooks)),
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
  // The process shuts down. Rows that still run are not charged, because no provider was late.
  for (const row of batch.rows) {
    if (row.state._tag === "running") row.state = { _tag: "waiting", request: row.state.request }
  }
})

/** Steps around the run of rows. */
export interface RowHooks {
  /** Runs the workers of a batch, so many of them, once there is room. */
  readonly admit: (workers: Effect.Effect<void>, count: number) => Effect.Effect<void>
  /** A row starts only after it. */
  readonly beforeStart: Effect.Effect<void>
  /** Called when a row is done, unless the batch has ended before. The worker goes on after it. */
  readonly onDone: (row: Row) => Effect.Effect<unknown>
}

/** Takes and runs rows one by one. Rows that no worker has taken when the batch stops were never dispatched. */
const runWorker = Effect.fnUntraced(function* (deps: RowDeps, batch: Batch, hooks: RowHooks) {
  const clock = yield* Clock.Clock
  while (batch.waiting.length > 0) {
    yield* hooks.beforeStart
    const row = batch.isStopped ? undefined : batch.waiting.shift()
    if (row?.state._tag !== "waiting") return
    const { request } = row.state
    row.state = { _tag: "running", request, since: clock.currentTimeMillisUnsafe() }
    const search = dispatchOnce(deps, batch, request, row.attempts)
    if ((yield* sampledSpan) !== undefined) row.span = yield* Effect.makeSpan("quarry.row")
    const exit = yield* Effect.exit(
      row.span === undefined ? search : Effect.provideService(search, Tracer.ParentSpan, row.span)
    )
    if (batch.hasEnded) return
    row.state = { _tag: "done", request, exit }
    if (row.span !== undefined) row.endedAtNanos = clock.currentTimeNanosUnsafe()
    if (Exit.isFailure(exit) && Exit.hasDies(exit)) yield* Effect.logError("Row failed", exit.cause)
    yield* hooks.onDone(row)
  }
})

/** Dispatches a row's search. Identical rows share an answer, but no failure (R15). */
const dispatchOnce = (
  { dispatch }: RowDeps,
  { answers }: Batch,
  request: SearchRequest,
  attempts: Attempts
): Effect.Effect<Dispatch> => {
  const key = cacheKey(request)
  const answer = answers.get(key)
  if (answer !== undefined) {
    return Effect.succeed({ answer: Result.succeed({ ...answer, cached: true }), durationMs: 0, refusals: [] })
  }
  return Effect.map(dispatch(request, attempts), (result) => {
    if (Result.isSuccess(result.answer)) answers.set(key, result.answer.success)
    return result
  })
}

/** Makes the body of a row that has ended, and its log entry where it was dispatched. */
export const endRow = Effect.fnUntraced(function* (deps: RowDeps, batch: Batch, row: Row, nowMs: number) {
  const end = endOf(row, nowMs, deps.budget)
  if ("status" in end) return end
  const requestId = yield* RequestId
  const place = { id: yield* deps.ids.make("qry_"), batchId: batch.id, rowIndex: row.index, requestId }
  const entry = toLogEntry(batch.principal, end.request, place, end.dispatch)
  row.entry = entry
  return Result.match(end.dispatch.answer, {
    onSuccess: ({ ranking }): RowBody => ({ status: "ok", ...toBody(entry, ranking) }),
    onFailure: errorRow
  })
})

export const errorRow = (error: { readonly _tag: ErrorRow["error"]; readonly message: string }): ErrorRow => ({
  status: "error",
  error: error._tag,
  message: error.message
})

/** The error of a row whose target the key of the first request could not use, for a key that can (R44). */
const forbiddenToFirst = new UnsupportedParameter({
  message:
    "The first request with this Idempotency-Key had an API key that may not use this row's target. " +
    "Send the row again with another Idempotency-Key."
})

/**
 * A row of the first answer, as the key of a repetition may see it. The first request may have had another key of the
 * account, with other targets (R50).
 */
export const replayRow = ({ state }: Row, first: RowBody): RowBody => {
  if (state._tag === "rejected" && state.error._tag === "unsupported_parameter") return errorRow(state.error)
  const wasForbidden = first.status === "error" && first.error === "unsupported_parameter"
  return wasForbidden && state._tag === "waiting" ? errorRow(forbiddenToFirst) : first
}

/** The end of a row: a dispatch, which is charged, or the error of a row that was not dispatched. */
const endOf = (
  { attempts, state }: Row,
  nowMs: number,
  budget: Duration.Duration
): ErrorRow | { readonly request: SearchRequest; readonly dispatch: Dispatch } => {
  const within = Duration.format(budget)
  switch (state._tag) {
    case "rejected":
      return errorRow(state.error)
    case "waiting":
      return errorRow(
        new UpstreamTimeout({
          message: `The batch's ${within} ended before this row was started. It was not charged; send it again.`
        })
      )
    case "running": {
      const error = new UpstreamTimeout({
        message: `The search provider did not answer before the batch's ${within} ended.`
      })
      const refusals = attempts.refusals(true, nowMs)
      return {
        request: state.request,
        dispatch: { answer: Result.fail(error), durationMs: nowMs - state.since, refusals }
      }
    }
    case "done":
      return Exit.isSuccess(state.exit)
        ? { request: state.request, dispatch: state.exit.value }
        : errorRow(internalError)
  }
}
