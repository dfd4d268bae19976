import { Effect, Exit, Fiber, Latch, Option, type Scope } from "effect"
import { SpanEncoder } from "./SpanEncoder.ts"
import type { EndedSpan } from "./SpanTracer.ts"

/** Spans on their way: an `ExportTraceServiceRequest` and how many are in it. */
export interface SpanBatch {
  readonly request: Uint8Array
  readonly count: number
}

export interface SpanQueueOptions {
  readonly resource: Readonly<Record<string, unknown>>
  /** Spans that wait at most, besides those that are being sent. */
  readonly maxQueueSize: number
  /** Spans in one request. */
  readonly maxBatchSize: number
  /** A span waits no longer than this for others. */
  readonly delayMs: number
  /** The longest that sending one request may take. */
  readonly timeoutMs: number
  /** The longest that the end of the scope may take. */
  readonly shutdownTimeoutMs: number
  readonly send: (batch: SpanBatch) => Effect.Effect<void, unknown>
  readonly onSent: () => void
  readonly onLost: (reason: "queue_full" | "export_failed", count: number) => void
}

/**
 * Takes spans that have ended and sends them, one request at a time, as OpenTelemetry's `BatchSpanProcessor` does with
 * an exporter behind it. A span is encoded as it comes: as an object it would outlive a collection of garbage, and to
 * copy it there costs as much as to make it.
 */
export const make = Effect.fnUntraced(function* (
  options: SpanQueueOptions
): Effect.fn.Return<(span: EndedSpan) => void, never, Scope.Scope> {
  const encoder = new SpanEncoder(options.resource)
  /** Full batches. */
  const full: Array<SpanBatch> = []
  const due = Latch.makeUnsafe(false)
  let waiting = 0
  let closing = false

  const finishBatch = (): void => {
    if (encoder.count > 0) full.push({ count: encoder.count, request: encoder.take() })
  }

  const add = (span: EndedSpan): void => {
    if (waiting >= options.maxQueueSize) {
      options.onLost("queue_full", 1)
      return
    }
    waiting++
    encoder.add(span)
    if (encoder.count < options.maxBatchSize) return
    finishBatch()
    due.openUnsafe()
  }

  const send = Effect.fnUntraced(function* (batch: SpanBatch) {
    waiting -= batch.count
    const exit = yield* Effect.exit(Effect.timeout(options.send(batch), options.timeoutMs))
    if (Exit.isSuccess(exit)) options.onSent()
    else options.onLost("export_failed", batch.count)
  })

  /** Sends everything when the delay is over, and before that full batches only. */
  const drain = Effect.gen(function* () {
    while (!closing) {
      const woken = yield* Effect.timeoutOption(due.await, options.delayMs)
      due.closeUnsafe()
      if (Option.isNone(woken)) finishBatch()
      for (let batch = full.shift(); batch !== undefined; batch = full.shift()) yield* send(batch)
    }
  })

  const draining = yield* Effect.forkScoped(Effect.interruptible(drain))
  const flush = Effect.suspend(() => {
    closing = true
    due.openUnsafe()
    finishBatch()
    return Effect.all([Fiber.await(draining), ...full.splice(0).map(send)], { concurrency: "unbounded", discard: true })
  })
  yield* Effect.addFinalizer(() => Effect.timeoutOption(Effect.interruptible(flush), options.shutdownTimeoutMs))
  return add
})
