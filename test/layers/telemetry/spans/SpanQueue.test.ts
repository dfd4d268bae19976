import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option, Scope } from "effect"
import { TestClock } from "effect/testing"
import { decodeSpans } from "../../../../otel/viewer/Otlp.ts"
import * as SpanQueue from "../../../../src/layers/telemetry/spans/SpanQueue.ts"
import type { EndedSpan } from "../../../../src/layers/telemetry/spans/SpanTracer.ts"

const aSpan = (name: string): EndedSpan => ({
  traceId: "0af7651916cd43dd8448eb211c80319c",
  spanId: "b7ad6b7169203331",
  parent: Option.none(),
  name,
  kind: "internal",
  startTime: 0n,
  endTime: 1n,
  attributes: new Map(),
  events: [],
  droppedEvents: 0,
  links: [],
  droppedLinks: 0,
  failed: false
})

/** A queue of ten spans at most, in batches of four, with a scripted collector. */
const setUp = Effect.fnUntraced(function* () {
  const sent: Array<ReadonlyArray<string>> = []
  const lost: Record<string, number> = { queue_full: 0, export_failed: 0 }
  let taken = 0
  const collector = { answer: Effect.void as Effect.Effect<void, string> }
  const scope = yield* Scope.make()
  const add = yield* Scope.provide(
    SpanQueue.make({
      resource: {},
      maxQueueSize: 10,
      maxBatchSize: 4,
      delayMs: 5_000,
      timeoutMs: 30_000,
      shutdownTimeoutMs: 1_500,
      send: ({ request }) =>
        Effect.suspend(() => {
          sent.push(decodeSpans(Buffer.from(request)).map(({ name }) => name))
          return collector.answer
        }),
      onSent: () => {
        taken++
      },
      onLost: (reason, count) => {
        lost[reason] = (lost[reason] ?? 0) + count
      }
    }),
    scope
  )
  let made = 0
  const end = (count: number) =>
    Effect.andThen(
      Effect.sync(() => {
        for (let n = 0; n < count; n++) add(aSpan(`${++made}`))
      }),
      TestClock.adjust(0)
    )
  return { end, sent, lost, collector, taken: () => taken, close: Scope.close(scope, Exit.void) }
})

describe("SpanQueue", () => {
  it.effect("sends a whole batch at once, and the others when the delay is over", () =>
    Effect.gen(function* () {
      const { close, end, sent } = yield* setUp()
      yield* end(3)
      assert.deepStrictEqual(sent, [])
      yield* end(2)
      assert.deepStrictEqual(sent, [["1", "2", "3", "4"]])
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(sent.slice(1), [["5"]])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(sent.length, 2)
      yield* close
    })
  )

  it.effect("drops and counts what does not fit while a collector hangs, and goes on when it is well again", () =>
    Effect.gen(function* () {
      const { close, collector, end, lost, sent, taken } = yield* setUp()
      collector.answer = Effect.never
      // One batch is on its way and ten spans wait.
      yield* end(4)
      yield* end(100)
      assert.deepStrictEqual([sent.length, lost], [1, { queue_full: 90, export_failed: 0 }])
      // A minute of it: each request is given up after half of that.
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual([sent.length, lost], [2, { queue_full: 90, export_failed: 4 }])
      yield* end(100)
      assert.deepStrictEqual(lost, { queue_full: 186, export_failed: 4 })
      collector.answer = Effect.void
      yield* TestClock.adjust("1 second")
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(lost.export_failed, 8)
      // Every span was sent or counted, and all that come after it are sent.
      yield* end(4)
      yield* TestClock.adjust("5 seconds")
      const whole = sent.slice(2).flat().length
      assert.strictEqual(whole + 186 + 8, 208)
      assert.strictEqual(taken(), sent.length - 2)
      assert.deepStrictEqual(lost, { queue_full: 186, export_failed: 8 })
      yield* close
    })
  )

  it.effect("a collector that refuses loses what it was sent, counted", () =>
    Effect.gen(function* () {
      const { close, collector, end, lost, taken } = yield* setUp()
      collector.answer = Effect.fail("refused")
      yield* end(9)
      assert.deepStrictEqual([lost, taken()], [{ queue_full: 0, export_failed: 8 }, 0])
      yield* close
    })
  )

  it.effect("sends what is there when it ends, and waits no longer than it may for a collector that hangs", () =>
    Effect.gen(function* () {
      const well = yield* setUp()
      yield* well.end(3)
      yield* well.close
      assert.deepStrictEqual(well.sent, [["1", "2", "3"]])
      const sick = yield* setUp()
      sick.collector.answer = Effect.never
      yield* sick.end(9)
      const closing = yield* Effect.forkChild(sick.close)
      yield* TestClock.adjust("1499 millis")
      assert.deepStrictEqual([sick.sent.length, closing.pollUnsafe()], [3, undefined])
      yield* TestClock.adjust("1 millis")
      assert.isDefined(closing.pollUnsafe())
    })
  )
})
