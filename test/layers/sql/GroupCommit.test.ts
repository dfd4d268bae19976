import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Metric, Option, Tracer } from "effect"
import { SqlError } from "effect/sql"
import { TestClock } from "effect/testing"
import { makeGroupCommit } from "../../../src/layers/sql/GroupCommit.ts"
import { withSpan } from "../../../src/services/telemetry/Tracing.ts"

interface Entry {
  readonly owner: string
  readonly n: number
}

const entries = (owner: string, count: number): ReadonlyArray<Entry> =>
  Array.from({ length: count }, (_, n) => ({ owner, n }))

const failure = (reason: SqlError.SqlErrorReason) => new SqlError.SqlError({ reason })
const props = { cause: undefined, message: "made up", operation: "query" }

/** A group commit whose first batch waits until the gate opens, and what it was given to send. */
const make = Effect.fnUntraced(function* (
  fail: (batch: ReadonlyArray<Entry>, attempt: number) => SqlError.SqlError | undefined = () => undefined,
  uncertainty?: Duration.Duration
) {
  const gate = yield* Deferred.make<void>()
  const sent: Array<ReadonlyArray<Entry>> = []
  const submit = yield* makeGroupCommit<Entry, string>({
    name: "test",
    maxBatch: 10,
    maxPerOwner: 4,
    uncertainty,
    ownerOf: ({ owner }) => owner,
    run: Effect.fnUntraced(function* (batch) {
      sent.push(batch)
      yield* Deferred.await(gate)
      const error = fail(batch, sent.length)
      if (error !== undefined) return yield* error
      return batch.map(({ n, owner }) => `${owner}${n}`)
    })
  })
  const all = (wanted: ReadonlyArray<Entry>) =>
    Effect.forkChild(Effect.forEach(wanted, (entry) => Effect.exit(submit(entry)), { concurrency: "unbounded" }))
  return { submit, all, sent, open: Deferred.succeed(gate, undefined) }
})

describe("GroupCommit", () => {
  it.effect("what arrives while a batch is on the wire forms the next, and each entry gets its own answer", () =>
    Effect.gen(function* () {
      const { all, open, sent } = yield* make()
      const first = yield* all(entries("a", 1))
      yield* Effect.yieldNow
      yield* Effect.yieldNow
      assert.strictEqual(sent.length, 1)
      const rest = yield* all([...entries("b", 3), ...entries("c", 2)])
      yield* TestClock.adjust(0)
      assert.strictEqual(sent.length, 1)
      yield* open
      assert.deepStrictEqual(yield* Fiber.join(first), [Exit.succeed("a0")])
      assert.deepStrictEqual(yield* Fiber.join(rest), ["b0", "b1", "b2", "c0", "c1"].map(Exit.succeed))
      assert.deepStrictEqual(
        sent.map((batch) => batch.length),
        [1, 5]
      )
    })
  )

  it.effect("a batch is a separate trace, linked both ways with the requests it carries", () => {
    const spans: Array<Tracer.NativeSpan> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    return Effect.gen(function* () {
      const { all, open, submit } = yield* make()
      yield* all(entries("z", 1))
      yield* TestClock.adjust(0)
      const asked = yield* Effect.forkChild(
        Effect.forEach(["a", "b"], (owner) => withSpan(owner, {}, () => submit({ owner, n: 0 })), {
          concurrency: "unbounded"
        })
      )
      yield* TestClock.adjust(0)
      yield* open
      yield* Fiber.join(asked)
      const [a, b, batch, ...others] = spans
      assert.deepStrictEqual([a?.name, b?.name, batch?.name, others.length], ["a", "b", "test", 0])
      assert.isTrue(Option.isNone(batch?.parent ?? Option.some(undefined)))
      assert.deepStrictEqual(
        batch?.links.map((link) => link.span.spanId),
        [a?.spanId, b?.spanId]
      )
      for (const asker of [a, b]) {
        assert.deepStrictEqual(
          asker?.links.map((link) => link.span.spanId),
          [batch?.spanId]
        )
      }
    }).pipe(Effect.provideService(Tracer.Tracer, tracer))
  })

  it.effect("the flood of one owner does not starve the others, and each owner's order is kept", () =>
    Effect.gen(function* () {
      const { all, open, sent } = yield* make()
      const first = yield* all(entries("z", 1))
      yield* TestClock.adjust(0)
      const rest = yield* all([...entries("flood", 20), ...entries("b", 3), ...entries("c", 2), ...entries("d", 4)])
      yield* TestClock.adjust(0)
      yield* open
      yield* Fiber.join(first)
      yield* Fiber.join(rest)
      const owners = sent.slice(1).map((batch) => batch.map(({ owner }) => owner).join(" "))
      // The first entry of each comes before the second one of any, because answers are given in this order.
      assert.strictEqual(owners[0], "flood b c d flood b c flood b flood")
      assert.strictEqual(owners[1], "flood d flood d flood d flood")
      const flood = sent.flat().filter(({ owner }) => owner === "flood")
      assert.deepStrictEqual(flood, entries("flood", 20))
      assert.isAtMost(Math.max(...sent.map((batch) => batch.length)), 10)
    })
  )

  it.effect("an entry that the database refuses fails alone", () =>
    Effect.gen(function* () {
      const refuse = (batch: ReadonlyArray<Entry>) =>
        batch.some(({ n }) => n === 2) ? failure(new SqlError.ConstraintError(props)) : undefined
      const { all, open, sent } = yield* make(refuse)
      const fiber = yield* all(entries("a", 4))
      yield* open
      const exits = yield* Fiber.join(fiber)
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, true, false, true])
      assert.deepStrictEqual(
        sent.map((batch) => batch.length),
        [4, 1, 1, 1, 1]
      )
    })
  )

  it.effect.each([
    new SqlError.ConnectionError(props),
    new SqlError.DeadlockError(props),
    new SqlError.SerializationError(props),
    new SqlError.UnknownError({ ...props, cause: { code: "57P01" } })
  ])("a batch is sent again after %s", (reason) =>
    Effect.gen(function* () {
      const { all, open, sent } = yield* make((_, attempt) => (attempt < 3 ? failure(reason) : undefined))
      const fiber = yield* all(entries("a", 2))
      yield* open
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(fiber), ["a0", "a1"].map(Exit.succeed))
      assert.deepStrictEqual(
        sent.map((batch) => batch.length),
        [2, 2, 2]
      )
    })
  )

  it.effect("a database that is gone is not asked for each entry", () =>
    Effect.gen(function* () {
      const { all, open, sent } = yield* make(() => failure(new SqlError.ConnectionError(props)))
      const fiber = yield* all(entries("a", 4))
      yield* open
      yield* TestClock.adjust("1 minute")
      const exits = yield* Fiber.join(fiber)
      assert.isTrue(exits.every((exit) => Exit.isFailure(exit) && Exit.hasDies(exit)))
      assert.deepStrictEqual(
        sent.map((batch) => batch.length),
        [4, 4, 4, 4, 4]
      )
    })
  )

  it.effect("an owner whose rows stay locked fails alone, and the others wait for it once", () =>
    Effect.gen(function* () {
      let locked = true
      const wait = failure(new SqlError.LockTimeoutError(props))
      const { all, open, sent } = yield* make((batch) =>
        locked && batch.some(({ owner }) => owner === "stuck") ? wait : undefined
      )
      yield* open
      const first = yield* all([...entries("stuck", 2), ...entries("free", 2)])
      assert.deepStrictEqual((yield* Fiber.join(first)).map(Exit.isSuccess), [false, false, true, true])
      sent.length = 0
      const second = yield* all([...entries("stuck", 6), ...entries("free", 2)])
      assert.deepStrictEqual((yield* Fiber.join(second)).map(Exit.isSuccess).slice(6), [true, true])
      for (const batch of sent) assert.strictEqual(new Set(batch.map(({ owner }) => owner)).size, 1)
      locked = false
      sent.length = 0
      const third = yield* all(entries("stuck", 6))
      assert.deepStrictEqual((yield* Fiber.join(third)).map(Exit.isSuccess), Array(6).fill(true))
      const fourth = yield* all([...entries("free", 1), ...entries("stuck", 2)])
      yield* Fiber.join(fourth)
      const together = yield* all([...entries("free", 1), ...entries("x", 1), ...entries("stuck", 2)])
      yield* Fiber.join(together)
      assert.isTrue(sent.some((batch) => new Set(batch.map(({ owner }) => owner)).size > 1))
    })
  )

  it.effect("I4: no caller gets a failure before it is known whether the database committed", () =>
    Effect.gen(function* () {
      const lost = failure(new SqlError.ConnectionError(props))
      let back = false
      const { all, open } = yield* make(() => (back ? undefined : lost), Duration.seconds(100))
      const fiber = yield* all(entries("a", 2))
      yield* open
      yield* TestClock.adjust("90 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      back = true
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(fiber), [Exit.succeed("a0"), Exit.succeed("a1")])
    })
  )

  it.effect("a database that stays away is a defect when the time for it is over", () =>
    Effect.gen(function* () {
      const { all, open } = yield* make(() => failure(new SqlError.ConnectionError(props)), Duration.seconds(100))
      const fiber = yield* all(entries("a", 1))
      yield* open
      yield* TestClock.adjust("101 seconds")
      assert.isTrue((yield* Fiber.join(fiber)).every((exit) => Exit.isFailure(exit) && Exit.hasDies(exit)))
    })
  )

  it.effect("an interrupted caller's entry is dropped when it waits and carried out when it was sent", () =>
    Effect.gen(function* () {
      const { open, sent, submit } = yield* make()
      const onTheWire = yield* Effect.forkChild(submit({ owner: "a", n: 0 }))
      yield* TestClock.adjust(0)
      const waiting = yield* Effect.forkChild(submit({ owner: "a", n: 1 }))
      const staying = yield* Effect.forkChild(submit({ owner: "a", n: 2 }))
      yield* TestClock.adjust(0)
      yield* Fiber.interrupt(onTheWire)
      yield* Fiber.interrupt(waiting)
      yield* open
      assert.strictEqual(yield* Fiber.join(staying), "a2")
      assert.deepStrictEqual(sent, [[{ owner: "a", n: 0 }], [{ owner: "a", n: 2 }]])
    })
  )

  it.effect("the scope ends only when everything is sent", () =>
    Effect.gen(function* () {
      const sent: Array<number> = []
      const fiber = yield* Effect.scoped(
        Effect.gen(function* () {
          const submit = yield* makeGroupCommit<Entry, true>({
            name: "test",
            maxBatch: 10,
            maxPerOwner: 1,
            ownerOf: ({ owner }) => owner,
            run: (batch) =>
              Effect.as(
                Effect.yieldNow,
                batch.map(({ n }) => (sent.push(n) > 0) as true)
              )
          })
          const fiber = yield* Effect.forkDetach(Effect.forEach(entries("a", 5), submit, { concurrency: "unbounded" }))
          yield* TestClock.adjust(0)
          return fiber
        })
      )
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(sent, [0, 1, 2, 3, 4])
    })
  )

  it.effect("tells in metrics how it fared: calls in a statement, what was sent again and what failed", () =>
    Effect.gen(function* () {
      const lost = failure(new SqlError.ConnectionError(props))
      const { all, open } = yield* make((batch, attempt) =>
        attempt < 3 || batch[0]?.owner === "failing" ? lost : undefined
      )
      const first = yield* all(entries("a", 1))
      yield* TestClock.adjust(0)
      const rest = yield* all(entries("b", 2))
      yield* TestClock.adjust(0)
      const { waiting } = yield* measured
      yield* open
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(first)
      yield* Fiber.join(rest)
      assert.strictEqual(waiting, 2)
      const before = yield* measured
      assert.deepInclude(before, { waiting: 0, retries: 2, ok: 2, failed: undefined, calls: 3 })
      yield* all(entries("failing", 1))
      yield* TestClock.adjust("10 seconds")
      assert.deepInclude(yield* measured, { retries: 6, ok: 2, failed: 1 })
    }).pipe(
      Effect.provideServiceEffect(
        Metric.MetricRegistry,
        Effect.sync(() => new Map())
      )
    )
  )
})

/** What the metrics say of the batches. */
const measured = Effect.map(Metric.snapshot, (metrics) => {
  const stateOf = (id: string, outcome?: string) =>
    metrics.find((it) => it.id === id && (outcome === undefined || it.attributes?.outcome === outcome))?.state
  const count = (id: string, outcome?: string) => {
    const state = stateOf(id, outcome)
    return state !== undefined && "count" in state ? state.count : undefined
  }
  const waiting = stateOf("quarry.ledger.waiting")
  const size = stateOf("quarry.ledger.batch.size")
  return {
    waiting: waiting !== undefined && "value" in waiting ? waiting.value : undefined,
    retries: count("quarry.ledger.retries"),
    ok: count("quarry.ledger.batch.duration", "ok"),
    failed: count("quarry.ledger.batch.duration", "failed"),
    calls: size !== undefined && "sum" in size ? size.sum : undefined
  }
})
