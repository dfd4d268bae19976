import { Clock, Context, Duration, Effect, Exit, Fiber, Layer, Result, Tracer } from "effect"
import type { Answer } from "../domain/Answer.ts"
import type { BulkRows } from "../domain/BulkRequest.ts"
import type { BulkBody, ErrorRow, RowBody } from "../domain/BulkResult.ts"
import { internalError, type QuotaExceeded, UpstreamTimeout } from "../domain/errors.ts"
import type { LogEntry } from "../domain/LogEntry.ts"
import type { Principal } from "../domain/Principal.ts"
import type { SearchRefused, SearchRequest } from "../domain/SearchRequest.ts"
import { type Dispatch, makeDispatch, toBody, toLogEntry } from "./Dispatch.ts"
import { Ids } from "./Ids.ts"
import { Limits } from "./Limits.ts"
import { type LedgerTimings, makeMetering, type Receipt } from "./Metering.ts"
import { cacheKey } from "./ResultCache.ts"
import { countRows, traceRows } from "./RowTelemetry.ts"
import { sampledSpan, withSpan } from "./Tracing.ts"

/** A batch after its settlement: what ran is charged and logged. */
export interface BulkSettlement {
  readonly body: BulkBody
  readonly receipt: Receipt
  readonly timings: LedgerTimings
}

/** Many searches from credits to answers, inside one time budget. */
export class Bulk extends Context.Service<
  Bulk,
  {
    /**
     * Reserves a credit for each valid row, runs them side by side, and settles once: rows that were dispatched are
     * charged and logged, the rest of the hold goes back. A caller that goes away stops the rows that have not started
     * and no others (R21).
     */
    readonly run: (principal: Principal, rows: BulkRows) => Effect.Effect<BulkSettlement, QuotaExceeded>
  }
>()("quarry/services/Bulk") {
  static readonly layer = Layer.effect(
    Bulk,
    Effect.gen(function* () {
      const parts: Parts = {
        metering: yield* makeMetering,
        ids: yield* Ids,
        dispatch: yield* makeDispatch,
        budget: (yield* Limits).bulkBudget,
        scope: yield* Effect.scope
      }

      // In a fiber of its own, as a single search is: the caller's interruption ends the wait, and here also the start
      // of further rows.
      const run = Effect.fnUntraced(function* (principal: Principal, rows: BulkRows) {
        const batch = newBatch(yield* parts.ids.make("bat_"), principal, rows)
        const settled = withSpan(
          "Bulk.run",
          { attributes: { "quarry.batch.id": batch.id, "quarry.batch.size": rows.length } },
          () => settledBatch(parts, batch)
        )
        const fiber = yield* Effect.forkIn(settled, parts.scope, { startImmediately: true })
        return yield* Effect.onInterrupt(Fiber.join(fiber), () =>
          Effect.sync(() => {
            batch.stopped = true
          })
        )
      })

      return Bulk.of({ run })
    })
  )
}

interface Parts {
  readonly metering: Effect.Success<typeof makeMetering>
  readonly ids: Ids["Service"]
  readonly dispatch: Effect.Success<typeof makeDispatch>
  readonly budget: Duration.Duration
  readonly scope: Effect.Success<typeof Effect.scope>
}

/** One row of a batch, from the request to its end. */
export interface Row {
  /** Its place in the request, from 0. */
  readonly index: number
  state: RowState
  /** Undefined until the row starts, and where no span is sampled. */
  span: Tracer.Span | undefined
  /** When its search ended; undefined for a row that still runs as the batch ends. */
  endedAtNanos: bigint | undefined
  /** The log entry of a row that was dispatched, from the batch's end on. */
  entry: LogEntry | undefined
}

type RowState =
  | { readonly _tag: "rejected"; readonly error: SearchRefused }
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
  /** Answers of this batch by search: identical rows share one whether or not there is a result cache. */
  readonly answers: Map<string, Answer>
  /** Whether no further row may start: its caller has left, or it has ended. */
  stopped: boolean
  /** Whether the states of the rows are final: a row that is cut off must not change its own any more. */
  ended: boolean
}

const newBatch = (id: string, principal: Principal, rows: BulkRows): Batch => {
  const all = rows.map(
    (row, index): Row => ({
      index,
      state: Result.isSuccess(row)
        ? { _tag: "waiting", request: row.success }
        : { _tag: "rejected", error: row.failure },
      span: undefined,
      endedAtNanos: undefined,
      entry: undefined
    })
  )
  const waiting = all.filter(({ state }) => state._tag === "waiting")
  return { id, principal, rows: all, waiting, answers: new Map(), stopped: false, ended: false }
}

/** Everything from reservation to settlement; only the rows in between can be interrupted. */
const settledBatch = Effect.fnUntraced(function* (
  parts: Parts,
  batch: Batch
): Effect.fn.Return<BulkSettlement, QuotaExceeded> {
  if (batch.waiting.length === 0) return yield* settledWithoutSearch(parts, batch)
  const arrivedAt = yield* Clock.currentTimeMillis
  const metered = yield* parts.metering.reserve(batch.principal, batch.waiting.length)
  const reservedAt = yield* Clock.currentTimeMillis
  yield* runRows(parts, batch)
  const endedAt = yield* Clock.currentTimeMillis
  const body = yield* conclude(parts, batch, endedAt)
  const receipt = yield* metered.settle(batch.rows.flatMap(({ entry }) => (entry === undefined ? [] : [entry])))
  const settleMs = (yield* Clock.currentTimeMillis) - endedAt
  return { body, receipt, timings: { reserveMs: reservedAt - arrivedAt, settleMs } }
}, Effect.uninterruptible)

/** A batch without a valid row costs nothing and needs no credits (R18). */
const settledWithoutSearch = Effect.fnUntraced(function* (parts: Parts, batch: Batch) {
  const body = yield* conclude(parts, batch, yield* Clock.currentTimeMillis)
  const receipt = yield* parts.metering.nothing(batch.principal)
  return { body, receipt, timings: { reserveMs: 0, settleMs: 0 } }
})

/** A batch of 50 rows of up to 6 seconds each fits into the budget with no fewer (R20). */
const minConcurrency = 5

const concurrencyOf = (principal: Principal): number =>
  principal._tag === "demo" ? minConcurrency : Math.max(principal.account.concurrency, minConcurrency)

/**
 * Runs the rows until all are done or the budget ends. Then `state` of each row is final: a row that still runs is cut
 * off without a wait for it, because a provider that ignores its cancellation must not hold the answer back.
 */
const runRows = Effect.fnUntraced(function* (parts: Parts, batch: Batch) {
  const workers = yield* Effect.all(
    Array.from({ length: Math.min(concurrencyOf(batch.principal), batch.waiting.length) }, () => work(parts, batch)),
    { concurrency: "unbounded", discard: true }
  ).pipe(Effect.interruptible, Effect.forkIn(parts.scope))
  const waited = yield* Effect.exit(Effect.interruptible(Effect.timeoutOption(Fiber.await(workers), parts.budget)))
  batch.stopped = true
  batch.ended = true
  yield* Effect.forkIn(Fiber.interrupt(workers), parts.scope)
  if (Exit.isSuccess(waited)) return
  // The process shuts down: a row that runs was not the provider's delay, and is not charged.
  for (const row of batch.rows) {
    if (row.state._tag === "running") row.state = { _tag: "waiting", request: row.state.request }
  }
})

/** Takes rows one by one, so that a row that nobody has taken when the batch stops was never dispatched. */
const work = Effect.fnUntraced(function* (parts: Parts, batch: Batch) {
  const clock = yield* Clock.Clock
  for (let row = batch.waiting.shift(); row !== undefined && !batch.stopped; row = batch.waiting.shift()) {
    if (row.state._tag !== "waiting") continue
    const { request } = row.state
    row.state = { _tag: "running", request, since: clock.currentTimeMillisUnsafe() }
    const dispatched = dispatchOnce(parts, batch, request)
    if ((yield* sampledSpan) !== undefined) row.span = yield* Effect.makeSpan("quarry.row")
    const exit = yield* Effect.exit(
      row.span === undefined ? dispatched : Effect.provideService(dispatched, Tracer.ParentSpan, row.span)
    )
    if (batch.ended) return
    row.state = { _tag: "done", request, exit }
    if (row.span !== undefined) row.endedAtNanos = clock.currentTimeNanosUnsafe()
    if (Exit.isFailure(exit) && Exit.hasDies(exit)) yield* Effect.logError("Row failed", exit.cause)
  }
})

/** Identical rows share an answer; a failure is not shared (R15). */
const dispatchOnce = ({ dispatch }: Parts, { answers }: Batch, request: SearchRequest): Effect.Effect<Dispatch> => {
  const key = cacheKey(request)
  const known = answers.get(key)
  if (known !== undefined) {
    return Effect.succeed({ answer: Result.succeed({ ...known, cached: true }), durationMs: 0 })
  }
  return Effect.map(dispatch(request), (dispatched) => {
    if (Result.isSuccess(dispatched.answer)) answers.set(key, dispatched.answer.success)
    return dispatched
  })
}

/** The body of the answer; each row that was dispatched gets its log entry. */
const conclude = Effect.fnUntraced(function* (parts: Parts, batch: Batch, nowMs: number) {
  const results: Array<RowBody> = []
  for (const row of batch.rows) {
    const end = endOf(row.state, nowMs, parts.budget)
    if ("status" in end) {
      results.push(end)
      continue
    }
    const entry = toLogEntry(batch.principal, end.request, yield* parts.ids.make("qry_"), end.dispatch, batch.id)
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

/** The end of a row: a dispatched search, which is charged, or the error of a row that was not dispatched. */
const endOf = (
  state: RowState,
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
      return { request: state.request, dispatch: { answer: Result.fail(error), durationMs: nowMs - state.since } }
    }
    case "done":
      return Exit.isSuccess(state.exit)
        ? { request: state.request, dispatch: state.exit.value }
        : errorRow(internalError)
  }
}
