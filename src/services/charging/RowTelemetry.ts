import { Clock, Effect, Exit } from "effect"
import { describeOutcome, type OutcomeAttributes, sampledSpan, TraceQueryText } from "../telemetry/Tracing.ts"
import type { AnyRowBody, Batch, BatchKind, Row } from "./Batch.ts"

export const countRows = <B extends AnyRowBody>(
  kind: BatchKind<B>,
  { rows }: Batch<B>,
  results: ReadonlyArray<B>
): Effect.Effect<void> =>
  Effect.forEach(
    rows,
    ({ index, entry }) => {
      if (entry !== undefined) return kind.count(entry)
      const result: AnyRowBody | undefined = results[index]
      return result?.status === "error" ? kind.countFailed(result.error) : Effect.void
    },
    { discard: true }
  )

const outcomeOf = <B>({ entry }: Row<B>, result: AnyRowBody): OutcomeAttributes =>
  entry === undefined
    ? { outcome: result.status === "ok" ? "ok" : result.error, credits: 0, cached: false, dispatched: false }
    : { ...entry, dispatched: true }

/** Rows that never ran get a span too, so that the trace has all indexes. */
export const traceRows = Effect.fnUntraced(function* <B extends AnyRowBody>(
  batch: Batch<B>,
  results: ReadonlyArray<B>
) {
  if ((yield* sampledSpan) === undefined) return
  const withText = yield* TraceQueryText
  const now = yield* Clock.currentTimeNanos
  for (const row of batch.rows) {
    const span = row.span ?? (yield* Effect.makeSpan("quarry.row"))
    span.attribute("quarry.batch.id", batch.id)
    span.attribute("quarry.row.index", row.index)
    if (row.state._tag !== "rejected") row.state.task.describe(span, withText)
    const result = results[row.index]
    if (result !== undefined) describeOutcome(span, outcomeOf(row, result))
    span.end(row.endedAtNanos ?? now, Exit.void)
  }
})
