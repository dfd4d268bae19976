import { Clock, Context, Duration, Effect, Exit, Fiber, Layer, Metric, Result, Tracer } from "effect"
import type { BulkRows } from "../domain/BulkRequest.ts"
import type { BulkAnswer, ErrorRow, RowAnswer } from "../domain/BulkResult.ts"
import { internalError, type QuotaExceeded, UpstreamTimeout } from "../domain/errors.ts"
import type { Principal } from "../domain/Principal.ts"
import type { QueryRecord } from "../domain/QueryRecord.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import { countSearch, type Dispatched, makeDispatch, toAnswer, toRecord } from "./Dispatch.ts"
import { Ids } from "./Ids.ts"
import { Limits } from "./Limits.ts"
import { makeMetering, type Receipt, type Waits } from "./Metering.ts"
import { searchDuration } from "./Metrics.ts"
import { type Cached, cacheKey } from "./ResultCache.ts"
import { describeOutcome, describeSearch, type Outcome, sampledSpan, spanned, TraceQueryText } from "./Tracing.ts"

export interface BulkServed {
  readonly result: BulkAnswer
  readonly receipt: Receipt
  readonly waits: Waits
}

/** A batch of 50 rows of up to 6 seconds each fits into the budget with no fewer (R20). */
const minConcurrency = 5

const concurrencyOf = (principal: Principal): number =>
  principal._tag === "demo" ? minConcurrency : Math.max(principal.account.concurrency, minConcurrency)

/** Many searches from credits to answers, inside one time budget. */
export class Bulk extends Context.Service<
  Bulk,
  {
    /**
     * Reserves a credit for each valid row, runs them side by side, and settles once: rows that were dispatched are
     * charged and logged, the rest of the hold goes back. A caller that goes away stops the rows that have not started
     * and no others (R21).
     */
    readonly run: (principal: Principal, rows: BulkRows) => Effect.Effect<BulkServed, QuotaExceeded>
  }
>()("quarry/services/Bulk") {
  static readonly layer = Layer.effect(
    Bulk,
    Effect.gen(function* () {
      const metering = yield* makeMetering
      const ids = yield* Ids
      const dispatch = yield* makeDispatch
      const { bulkBudget } = yield* Limits
      const scope = yield* Effect.scope

      /** Identical rows share an answer whether or not there is a result cache; a failure is not shared (R15). */
      const dispatchOnce = (batch: Batch, request: SearchRequest): Effect.Effect<Dispatched> => {
        const key = cacheKey(request)
        const known = batch.answers.get(key)
        if (known !== undefined) {
          return Effect.succeed({ found: Result.succeed({ ...known, cached: true }), durationMs: 0 })
        }
        return Effect.map(dispatch(request), (dispatched) => {
          if (Result.isSuccess(dispatched.found)) batch.answers.set(key, dispatched.found.success)
          return dispatched
        })
      }

      /** Takes rows one by one, so that a row that nobody has taken when the batch stops was never dispatched. */
      const work = Effect.fnUntraced(function* (batch: Batch) {
        const clock = yield* Clock.Clock
        for (let row = batch.waiting.shift(); row !== undefined && !batch.stopped; row = batch.waiting.shift()) {
          row.state = { _tag: "running", since: clock.currentTimeMillisUnsafe() }
          const dispatched = dispatchOnce(batch, row.request)
          if ((yield* sampledSpan) !== undefined) row.span = yield* Effect.makeSpan("quarry.row")
          const exit = yield* Effect.exit(
            row.span === undefined ? dispatched : Effect.provideService(dispatched, Tracer.ParentSpan, row.span)
          )
          row.state = { _tag: "done", exit }
          if (row.span !== undefined) row.endedAtNanos = clock.currentTimeNanosUnsafe()
          if (Exit.isFailure(exit) && Exit.hasDies(exit)) yield* Effect.logError("Row failed", exit.cause)
        }
      })

      /**
       * Runs the rows until all are done or the budget ends, and answers how each then stands. What still runs is cut
       * off without waiting for it: a provider that ignores its cancellation must not hold the answer back.
       */
      const runRows = Effect.fnUntraced(function* (batch: Batch, rows: ReadonlyArray<Row>, concurrency: number) {
        const workers = yield* Effect.all(
          Array.from({ length: Math.min(concurrency, rows.length) }, () => work(batch)),
          { concurrency: "unbounded", discard: true }
        ).pipe(Effect.interruptible, Effect.forkIn(scope))
        const waited = yield* Effect.exit(Effect.interruptible(Effect.timeoutOption(Fiber.await(workers), bulkBudget)))
        batch.stopped = true
        const states = rows.map((row) => row.state)
        yield* Effect.forkIn(Fiber.interrupt(workers), scope)
        // Cut off by the shutdown of the process instead of the budget: what runs was not the provider's delay.
        return Exit.isSuccess(waited) ? states : states.map((state) => (state._tag === "running" ? unstarted : state))
      })

      const settled = Effect.fnUntraced(function* (principal: Principal, rows: BulkRows, batch: Batch) {
        const started: ReadonlyArray<Row> = rows.flatMap((row) =>
          Result.isSuccess(row)
            ? [{ request: row.success, state: unstarted, span: undefined, endedAtNanos: undefined }]
            : []
        )
        batch.waiting.push(...started)
        if (started.length === 0) {
          yield* countRows(rows, [])
          const receipt = yield* metering.nothing(principal)
          yield* traceRows(batch, rows, [], [])
          return { result: toBulkAnswer(batch.id, rows, []), receipt, waits: { reserveMs: 0, settleMs: 0 } }
        }
        const arrivedAt = yield* Clock.currentTimeMillis
        const metered = yield* metering.reserve(principal, started.length)
        const reservedAt = yield* Clock.currentTimeMillis
        const states = yield* runRows(batch, started, concurrencyOf(principal))
        const now = yield* Clock.currentTimeMillis
        const ends: Array<RowEnd> = []
        for (const [index, { request }] of started.entries()) {
          const came = outcomeOf(states[index] ?? unstarted, now, bulkBudget)
          ends.push(
            "found" in came
              ? toRowEnd(toRecord(principal, request, yield* ids.make("qry_"), came, batch.id), came)
              : { result: came, record: undefined }
          )
        }
        yield* countRows(rows, ends)
        const records = ends.flatMap(({ record }) => (record === undefined ? [] : [record]))
        yield* traceRows(batch, rows, started, ends)
        const receipt = yield* metered.settle(records)
        const settleMs = (yield* Clock.currentTimeMillis) - now
        const waits = { reserveMs: reservedAt - arrivedAt, settleMs }
        return { result: toBulkAnswer(batch.id, rows, ends), receipt, waits }
      }, Effect.uninterruptible)

      const traced = (principal: Principal, rows: BulkRows, batch: Batch) =>
        spanned("Bulk.run", { attributes: { "quarry.batch.id": batch.id, "quarry.batch.size": rows.length } }, () =>
          settled(principal, rows, batch)
        )

      // In a fiber of its own, as a single search is: the caller's interruption ends the wait, and here also the
      // giving out of rows.
      const run = Effect.fnUntraced(function* (principal: Principal, rows: BulkRows) {
        const batch: Batch = { id: yield* ids.make("bat_"), answers: new Map(), waiting: [], stopped: false }
        const fiber = yield* Effect.forkIn(traced(principal, rows, batch), scope, { startImmediately: true })
        return yield* Fiber.join(fiber).pipe(
          Effect.onInterrupt(() =>
            Effect.sync(() => {
              batch.stopped = true
            })
          )
        )
      })

      return Bulk.of({ run })
    })
  )
}

interface Batch {
  readonly id: string
  /** Answers of this batch by search. */
  readonly answers: Map<string, Cached>
  /** Rows that no worker has taken. */
  readonly waiting: Array<Row>
  /** Whether no further row may start. */
  stopped: boolean
}

interface Row {
  readonly request: SearchRequest
  state: RowState
  /** Undefined until the row starts, and where none is kept. */
  span: Tracer.Span | undefined
  /** Undefined until the row is done: what still runs as the batch ends is cut off there. */
  endedAtNanos: bigint | undefined
}

type RowState =
  | { readonly _tag: "unstarted" }
  | { readonly _tag: "running"; readonly since: number }
  | { readonly _tag: "done"; readonly exit: Exit.Exit<Dispatched> }

const unstarted: RowState = { _tag: "unstarted" }

/** How a row ended: what the caller sees, and the log entry when it was dispatched. */
interface RowEnd {
  readonly result: RowAnswer
  readonly record: QueryRecord | undefined
}

const errorRow = (error: { readonly _tag: ErrorRow["error"]; readonly message: string }): ErrorRow => ({
  status: "error",
  error: error._tag,
  message: error.message
})

/** What came of a row at the batch's end: something dispatched, which is charged, or the error of a row that was not. */
const outcomeOf = (state: RowState, nowMillis: number, budget: Duration.Duration): Dispatched | ErrorRow => {
  const within = Duration.format(budget)
  switch (state._tag) {
    case "unstarted":
      return errorRow(
        new UpstreamTimeout({
          message: `The batch's ${within} ended before this row was started. It was not charged; send it again.`
        })
      )
    case "running":
      return {
        found: Result.fail(
          new UpstreamTimeout({ message: `The search provider did not answer before the batch's ${within} ended.` })
        ),
        durationMs: nowMillis - state.since
      }
    case "done":
      return Exit.isSuccess(state.exit) ? state.exit.value : errorRow(internalError)
  }
}

const toRowEnd = (record: QueryRecord, { found }: Dispatched): RowEnd => ({
  record,
  result: Result.match(found, {
    onSuccess: ({ ranking }): RowAnswer => ({ status: "ok", ...toAnswer(record, ranking) }),
    onFailure: errorRow
  })
})

/** Counts each row by how it ended. Those that were not dispatched have taken no time, and no target for sure. */
const countRows = Effect.fnUntraced(function* (rows: BulkRows, ends: ReadonlyArray<RowEnd>) {
  const undispatched = (outcome: string) => Metric.update(searchDuration.of("row", "none", outcome, "false"), 0)
  for (const row of rows) if (Result.isFailure(row)) yield* undispatched(row.failure._tag)
  for (const { record, result } of ends) {
    if (record !== undefined) yield* countSearch("row", record)
    else if (result.status === "error") yield* undispatched(result.error)
  }
})

/** How a row is told of in its trace. */
const toOutcome = ({ record, result }: RowEnd): Outcome =>
  record === undefined
    ? { outcome: result.status === "ok" ? "ok" : result.error, credits: 0, cached: false, dispatched: false }
    : { ...record, dispatched: true }

/**
 * Ends the span of each row, in input order. Those that were rejected or never started get one too, so that whoever
 * looks for a row by its place finds it.
 */
const traceRows = Effect.fnUntraced(function* (
  batch: Batch,
  rows: BulkRows,
  started: ReadonlyArray<Row>,
  ends: ReadonlyArray<RowEnd>
) {
  if ((yield* sampledSpan) === undefined) return
  const withText = yield* TraceQueryText
  const now = yield* Clock.currentTimeNanos
  const ran = started.entries()
  for (const [index, row] of rows.entries()) {
    const [place, known] = Result.isSuccess(row) ? (ran.next().value ?? []) : []
    const end = place === undefined ? undefined : ends[place]
    const span = known?.span ?? (yield* Effect.makeSpan("quarry.row"))
    span.attribute("quarry.batch.id", batch.id)
    span.attribute("quarry.row.index", index)
    if (known !== undefined) describeSearch(span, known.request, withText)
    const rejected = Result.isFailure(row) ? { result: errorRow(row.failure), record: undefined } : undefined
    const told = rejected ?? end
    if (told !== undefined) describeOutcome(span, toOutcome(told))
    span.end(known?.endedAtNanos ?? now, Exit.void)
  }
})

/** The rows in input order: those that ran in the order of `ends`, the others with what was wrong with them. */
const toBulkAnswer = (batchId: string, rows: BulkRows, ends: ReadonlyArray<RowEnd>): BulkAnswer => {
  const ran = ends.values()
  const results = rows.flatMap((row): ReadonlyArray<RowAnswer> => {
    if (Result.isFailure(row)) return [errorRow(row.failure)]
    const end = ran.next().value
    return end === undefined ? [] : [end.result]
  })
  const succeeded = results.filter(({ status }) => status === "ok").length
  return { batch_id: batchId, total: rows.length, succeeded, failed: results.length - succeeded, results }
}
