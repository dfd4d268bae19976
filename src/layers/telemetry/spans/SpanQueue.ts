import { Effect, Exit, Fiber, Latch, Option, type Scope } from "effect"
import { SpanEncoder } from "./SpanEncoder.ts"
import type { EndedSpan } from "./SpanTracer.ts"

export interface SpanBatch {
  readonly request: Uint8Array
  readonly count: number
}

export interface SpanQueueOptions {
  readonly resource: Readonly<Record<string, unknown>>
  /** Not counting spans that are being sent. */
  readonly maxQueueSize: number
  readonly maxBatchSize: number
  readonly delayMs: number
  readonly timeoutMs: number
  readonly shutdownTimeoutMs: number
  readonly send: (batch: SpanBatch) => Effect.Effect<void, unknown>
  readonly onSent: () => void
  readonly onLost: (reason: "queue_full" | "export_failed", count: number) => void
}

/**
 * Sends one request at a time, like OpenTelemetry's `BatchSpanProcessor`. Encodes spans when they end: kept as objects
 * they would outlive a garbage collection, and copying them there costs as much as creating them.
 */
export const make = Effect.fnUntraced(function* (
  options: SpanQueueOptions
): Effect.fn.Return<(span: EndedSpan) => void, never, Scope.Scope> {
  const encoder = new SpanEncoder(options.resource)
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
