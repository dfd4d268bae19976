import { Clock, Effect, Exit, Metric } from "effect"
import type { RowBody } from "../domain/BulkResult.ts"
import type { Batch, Row } from "./Batch.ts"
import { countSearch } from "./Dispatch.ts"
import { searchDuration } from "./Metrics.ts"
import { describeOutcome, describeSearch, type OutcomeAttributes, sampledSpan, TraceQueryText } from "./Tracing.ts"

/** Measures each row by its outcome. Rows that were not dispatched have 0 s and no target, which may be invalid. */
export const countRows = ({ rows }: Batch, results: ReadonlyArray<RowBody>): Effect.Effect<void> =>
  Effect.forEach(
    rows,
    ({ index, entry }) => {
      if (entry !== undefined) return countSearch("row", entry)
      const result = results[index]
      return result?.status === "error"
        ? Metric.update(searchDuration.of("row", "none", result.error, "false"), 0)
        : Effect.void
    },
    { discard: true }
  )

const outcomeOf = ({ entry }: Row, result: RowBody): OutcomeAttributes =>
  entry === undefined
    ? { outcome: result.status === "ok" ? "ok" : result.error, credits: 0, cached: false, dispatched: false }
    : { ...entry, dispatched: true }

/**
 * Ends the span of each row, in the order of the request. Rows that were rejected or never started get a span too, so
 * that a trace has every index.
 */
export const traceRows = Effect.fnUntraced(function* (batch: Batch, results: ReadonlyArray<RowBody>) {
  if ((yield* sampledSpan) === undefined) return
  const withText = yield* TraceQueryText
  const now = yield* Clock.currentTimeNanos
  for (const row of batch.rows) {
    const span = row.span ?? (yield* Effect.makeSpan("quarry.row"))
    span.attribute("quarry.batch.id", batch.id)
    span.attribute("quarry.row.index", row.index)
    if (row.state._tag !== "rejected") describeSearch(span, row.state.request, withText)
    const result = results[row.index]
    if (result !== undefined) describeOutcome(span, outcomeOf(row, result))
    span.end(row.endedAtNanos ?? now, Exit.void)
  }
})
