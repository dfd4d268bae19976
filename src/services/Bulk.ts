import { Clock, Context, Duration, Effect, Exit, Fiber, Layer, Result, Tracer } from "effect"
import type { Answer } from "../domain/Answer.ts"
import type { BulkRows } from "../domain/BulkRequest.ts"
import type { BulkBody, ErrorRow, RowBody } from "../domain/BulkResult.ts"
import { internalError, type QuotaExceeded, UpstreamTimeout } from "../domain/errors.ts"
import type { LogEntry } from "../domain/LogEntry.ts"
import type { Principal } from "../domain/Principal.ts"
import type { InvalidSearch, SearchRequest } from "../domain/SearchRequest.ts"
import { Attempts } from "./Attempts.ts"
import { type Dispatch, makeDispatch, toBody, toLogEntry } from "./Dispatch.ts"
import { Ids } from "./Ids.ts"
import { Limits } from "./Limits.ts"
import { type LedgerTimings, makeMetering, type Receipt } from "./Metering.ts"
import { RequestId } from "./RequestId.ts"
import { cacheKey } from "./ResultCache.ts"
import { countRows, traceRows } from "./RowTelemetry.ts"
import { sampledSpan, withSpan } from "./Tracing.ts"

/** A batch after its settlement: its dispatched rows are charged and logged. */
export interface BulkSettlement {
  readonly body: BulkBody
  readonly receipt: Receipt
  readonly timings: LedgerTimings
}

/** Runs batches: many searches with one hold and one time budget. */
export class Bulk extends Context.Service<
  Bulk,
  {
    /**
     * Reserves a credit for each valid row, runs the rows concurrently, and settles once. Dispatched rows are charged
     * and logged, and the rest of the hold is returned. The caller's interruption stops only rows that have not started
     * (R21).
     */
    readonly run: (principal: Principal, rows: BulkRows) => Effect.Effect<BulkSettlement, QuotaExceeded>
  }
>()("quarry/services/Bulk") {
  static readonly layer = Layer.effect(
    Bulk,
    Effect.gen(function* () {
      const deps: Deps = {
        metering: yield* makeMetering,
        ids: yield* Ids,
        dispatch: yield* makeDispatch,
        budget: (yield* Limits).bulkBudget,
        scope: yield* Effect.scope
      }

      // Runs in a fiber of its own, as a single search does: an interruption of the caller ends only its wait and the
      // start of further rows.
      const run = Effect.fnUntraced(function* (principal: Principal, rows: BulkRows) {
        const batch = newBatch(yield* deps.ids.make("bat_"), principal, rows)
        const settlement = withSpan(
          "Bulk.run",
          { attributes: { "quarry.batch.id": batch.id, "quarry.batch.size": rows.length } },
          () => runBatch(deps, batch)
        )
        const fiber = yield* Effect.forkIn(settlement, deps.scope, { startImmediately: true })
        return yield* Effect.onInterrupt(Fiber.join(fiber), () =>
          Effect.sync(() => {
            batch.isStopped = true
          })
        )
      })

      return Bulk.of({ run })
    })
  )
}

interface Deps {
  readonly metering: Effect.Success<typeof makeMetering>
  readonly ids: Ids["Service"]
  readonly dispatch: Effect.Success<typeof makeDispatch>
  readonly budget: Duration.Duration
  readonly scope: Effect.Success<typeof Effect.scope>
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

type RowState =
  | { readonly _tag: "rejected"; readonly error: InvalidSearch }
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

const newBatch = (id: string, principal: Principal, rows: BulkRows): Batch => {
  const all = rows.map(
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
  return { id, principal, rows: all, waiting, answers: new Map(), isStopped: false, hasEnded: false }
}

/** Runs a batch from reservation to settlement. Only the rows can be interrupted, so that every hold is settled. */
const runBatch = Effect.fnUntraced(function* (
  deps: Deps,
  batch: Batch
): Effect.fn.Return<BulkSettlement, QuotaExceeded> {
  if (batch.waiting.length === 0) return yield* answerWithoutSearch(deps, batch)
  const arrivedAt = yield* Clock.currentTimeMillis
  const hold = yield* deps.metering.reserve(batch.principal, batch.waiting.length)
  const reservedAt = yield* Clock.currentTimeMillis
  yield* runRows(deps, batch)
  const endedAt = yield* Clock.currentTimeMillis
  const body = yield* buildBody(deps, batch, endedAt)
  const receipt = yield* hold.settle(batch.rows.flatMap(({ entry }) => (entry === undefined ? [] : [entry])))
  const settleMs = (yield* Clock.currentTimeMillis) - endedAt
  return { body, receipt, timings: { reserveMs: reservedAt - arrivedAt, settleMs } }
}, Effect.uninterruptible)

/** Answers a batch without a valid row, which costs nothing and needs no credits (R18). */
const answerWithoutSearch = Effect.fnUntraced(function* (deps: Deps, batch: Batch) {
  const body = yield* buildBody(deps, batch, yield* Clock.currentTimeMillis)
  const receipt = yield* deps.metering.emptyReceipt(batch.principal)
  return { body, receipt, timings: { reserveMs: 0, settleMs: 0 } }
})

/** The fewest workers of a batch. With them, 50 rows of 6 seconds each fit into the budget (R20). */
const minConcurrency = 5

const concurrencyOf = (principal: Principal): number =>
  principal._tag === "demo" ? minConcurrency : Math.max(principal.account.concurrency, minConcurrency)

/**
 * Runs the rows until all are done or the budget ends. Then `state` of each row is final. Rows that still run are
 * interrupted without waiting for their end, because a provider that ignores its cancellation would delay the answer.
 */
const runRows = Effect.fnUntraced(function* (deps: Deps, batch: Batch) {
  const workers = yield* Effect.all(
    Array.from({ length: Math.min(concurrencyOf(batch.principal), batch.waiting.length) }, () =>
      runWorker(deps, batch)
    ),
    { concurrency: "unbounded", discard: true }
  ).pipe(Effect.interruptible, Effect.forkIn(deps.scope))
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

/** Takes and runs rows one by one. Rows that no worker has taken when the batch stops were never dispatched. */
const runWorker = Effect.fnUntraced(function* (deps: Deps, batch: Batch) {
  const clock = yield* Clock.Clock
  for (let row = batch.waiting.shift(); row !== undefined && !batch.isStopped; row = batch.waiting.shift()) {
    if (row.state._tag !== "waiting") continue
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
  }
})

/** Dispatches a row's search. Identical rows share an answer, but no failure (R15). */
const dispatchOnce = (
  { dispatch }: Deps,
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

/** Builds the body of the answer, and makes the log entry of each dispatched row. */
const buildBody = Effect.fnUntraced(function* (deps: Deps, batch: Batch, nowMs: number) {
  const results: Array<RowBody> = []
  const requestId = yield* RequestId
  for (const row of batch.rows) {
    const end = endOf(row, nowMs, deps.budget)
    if ("status" in end) {
      results.push(end)
      continue
    }
    const place = { id: yield* deps.ids.make("qry_"), batchId: batch.id, rowIndex: row.index, requestId }
    const entry = toLogEntry(batch.principal, end.request, place, end.dispatch)
    row.entry = entry
    results.push(
      Result.match(end.dispatch.answer, {
        onSuccess: ({ ranking }): RowBody => ({ status: "ok", ...toBody(entry, ranking) }),
        onFailure: errorRow
      })
    )
  }
  yield* countRows(batch, results)
  yield* traceRows(batch, results)
  const succeeded = results.filter(({ status }) => status === "ok").length
  return { batch_id: batch.id, total: results.length, succeeded, failed: results.length - succeeded, results }
})

const errorRow = (error: { readonly _tag: ErrorRow["error"]; readonly message: string }): ErrorRow => ({
  status: "error",
  error: error._tag,
  message: error.message
})

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
