import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { Payers } from "../../../src/domain/fairness/Payers.ts"
import { FairSlots, type FairSlotsOptions, type Gate } from "../../../src/services/fairness/FairSlots.ts"
import { shareFairly } from "../../../src/services/fairness/shareFairly.ts"
import { Flights } from "../../../src/services/waiting/Flights.ts"

const yieldToOthers = Effect.forEach(Array.from({ length: 20 }), () => Effect.yieldNow, { discard: true })

const make = (options: Partial<FairSlotsOptions<"full">> = {}): FairSlots<"full"> =>
  new FairSlots({
    slots: 64,
    slotsPerAccount: 16,
    waiting: { items: 1_000, bytes: 1_000_000 },
    full: "full",
    ...options
  })

const times = (count: number) => Array.from({ length: count })

const forkAll = (slots: FairSlots<"full">, accountId: string, count: number, gate?: Gate) =>
  Effect.forEach(times(count), () => Effect.forkChild(slots.inSlot(accountId, gate)(Effect.never)))

interface Arrival {
  readonly account: string
  readonly afterMs: number
  readonly workMs: number
  readonly leavesAfterMs: number
}

const arrivals: fc.Arbitrary<ReadonlyArray<Arrival>> = fc.array(
  fc.record({
    account: fc.constantFrom("a", "a", "a", "b", "c"),
    afterMs: fc.integer({ min: 0, max: 100 }),
    workMs: fc.integer({ min: 0, max: 200 }),
    leavesAfterMs: fc.constantFrom(50, 100_000)
  }),
  { maxLength: 40 }
)

describe("fair slots", () => {
  it.effect("never hold more work than there are slots, nor more of an account than its share, and end empty", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(
          arrivals,
          fc.integer({ min: 1, max: 4 }),
          fc.integer({ min: 1, max: 3 }),
          (all, slots, share) =>
            Effect.gen(function* () {
              const fair = make({ slots, slotsPerAccount: share })
              const running = new Map<string, number>()
              const add = (account: string, change: number) => {
                running.set(account, (running.get(account) ?? 0) + change)
                assert.isAtMost(running.get(account) ?? 0, share)
                assert.isAtMost(
                  [...running.values()].reduce((sum, count) => sum + count, 0),
                  slots
                )
              }
              const run = ({ account, afterMs, leavesAfterMs, workMs }: Arrival) =>
                Effect.acquireUseRelease(
                  Effect.sync(() => add(account, 1)),
                  () => Effect.sleep(workMs),
                  () => Effect.sync(() => add(account, -1))
                ).pipe(fair.inSlot(account), Effect.timeoutOption(leavesAfterMs), Effect.delay(afterMs))
              const fibers = yield* Effect.forEach(all, (each) => Effect.forkChild(run(each)))
              yield* TestClock.adjust(all.length * 200 + 1_000)
              for (const fiber of fibers) yield* Fiber.join(fiber)
              assert.strictEqual(fair.waiting, 0)
              // Every slot is free again.
              yield* Effect.forEach(times(slots), (_, n) => fair.inSlot(`new ${n}`)(Effect.sleep(1)), {
                concurrency: "unbounded"
              }).pipe(Effect.forkChild, Effect.tap(TestClock.adjust(1)), Effect.flatMap(Fiber.join))
            }).pipe(Effect.provide(TestClock.layer()), Effect.runPromise)
        ),
        { numRuns: 50 }
      )
    )
  )

  it.effect("R83: an account holds at most its share, so another starts at once", () =>
    Effect.gen(function* () {
      const slots = make()
      yield* forkAll(slots, "hostile", 200)
      yield* yieldToOthers
      const started: Array<number> = []
      yield* Effect.forEach(times(48), (_, n) =>
        Effect.forkChild(
          slots.inSlot(`account ${n % 3}`)(
            Effect.andThen(
              Effect.sync(() => started.push(n)),
              Effect.never
            )
          )
        )
      )
      yield* yieldToOthers
      assert.lengthOf(started, 48)
    })
  )

  it.effect("give the next slot to the account whose work took the least time", () =>
    Effect.gen(function* () {
      const slots = make({ slotsPerAccount: 64 })
      const ended: Array<string> = []
      const slow = slots.inSlot("slow")(
        Effect.delay(
          Effect.sync(() => ended.push("slow")),
          "15 seconds"
        )
      )
      yield* Effect.forkChild(Effect.forEach(times(200), () => slow, { concurrency: "unbounded", discard: true }))
      yield* yieldToOthers
      yield* Effect.forkChild(slots.inSlot("quick")(Effect.sync(() => ended.push("quick"))))
      yield* yieldToOthers
      assert.deepStrictEqual(ended, [])
      yield* TestClock.adjust("15 seconds")
      assert.lengthOf(ended, 65)
      assert.include(ended, "quick")
    })
  )

  it.effect("pass to others when their work is interrupted, waiting or running", () =>
    Effect.gen(function* () {
      const slots = make({ slotsPerAccount: 64 })
      const fibers = yield* forkAll(slots, "a", 130)
      yield* yieldToOthers
      yield* Fiber.interruptAll(fibers)
      const results = yield* Effect.forEach(times(64), () => slots.inSlot("b")(Effect.succeed(1)), {
        concurrency: "unbounded"
      })
      assert.lengthOf(results, 64)
    })
  )

  it.effect("drop work of the account with the most waiting work when too much waits", () =>
    Effect.gen(function* () {
      const slots = make({ slotsPerAccount: 64 })
      const fibers = yield* forkAll(slots, "a", 1_064)
      yield* yieldToOthers
      const [other] = yield* forkAll(slots, "b", 1)
      yield* yieldToOthers
      assert.strictEqual(fibers.filter((fiber) => fiber.pollUnsafe() !== undefined).length, 1)
      assert.isUndefined(other?.pollUnsafe())
    })
  )

  it.effect("R83: work behind a closed gate holds no slot, and starts once the gate opens", () =>
    Effect.gen(function* () {
      const slots = make({ slots: 2, slotsPerAccount: 1 })
      let entered = 0
      const gate: Gate = {
        opensAt: (now) => (entered === 0 ? now : 1_000),
        enter: () => void entered++,
        leave: () => undefined
      }
      const ended: Array<string> = []
      const end = (name: string) => Effect.sync(() => ended.push(name))
      for (const name of ["first", "second"]) yield* Effect.forkChild(slots.inSlot("a", gate)(end(name)))
      yield* yieldToOthers
      yield* slots.inSlot("a")(end("another"))
      assert.deepStrictEqual(ended, ["first", "another"])
      yield* TestClock.adjust("999 millis")
      assert.lengthOf(ended, 2)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(ended, ["first", "another", "second"])
    })
  )

  it.effect("R83: a request that joins another account's work does not wait in that account's place", () =>
    Effect.gen(function* () {
      const slots = make({ slots: 4, slotsPerAccount: 2 })
      const flights = new Flights<string, Payers>()
      yield* forkAll(slots, "hostile", 50)
      yield* yieldToOthers
      const work = (payers: Payers) => slots.inSlot(payers)(Effect.succeed("page"))
      const first = yield* Effect.forkChild(shareFairly(flights, "page", "hostile", work))
      yield* yieldToOthers
      assert.isUndefined(first.pollUnsafe())
      const second = yield* Effect.forkChild(shareFairly(flights, "page", "paying", work))
      yield* yieldToOthers
      assert.isDefined(second.pollUnsafe(), "it waits behind the other account's work")
      assert.strictEqual(yield* Fiber.join(second), "page")
      assert.strictEqual(yield* Fiber.join(first), "page")
    })
  )

  it.effect("shared work leaves the queue of an account that leaves, and ends with the last one", () =>
    Effect.gen(function* () {
      const slots = make({ slots: 1 })
      const flights = new Flights<string, Payers>()
      const open = yield* Deferred.make<void>()
      yield* Effect.forkChild(slots.inSlot("busy")(Deferred.await(open)))
      yield* yieldToOthers
      const work = (payers: Payers) => slots.inSlot(payers)(Effect.succeed("page"))
      const fibers = yield* Effect.forEach(["a", "b"], (id) => Effect.forkChild(shareFairly(flights, "page", id, work)))
      yield* yieldToOthers
      assert.strictEqual(slots.waiting, 2)
      for (const [left, fiber] of fibers.entries()) {
        yield* Fiber.interrupt(fiber)
        yield* yieldToOthers
        assert.strictEqual(slots.waiting, 1 - left)
      }
      yield* Deferred.succeed(open, undefined)
      yield* yieldToOthers
      assert.strictEqual(yield* slots.inSlot("c")(Effect.succeed("c")), "c")
    })
  )
})

describe("payers", () => {
  it("follow the payers of work that waits for them", () => {
    const page = new Payers()
    const robots = new Payers()
    const leaveA = page.add("a")
    const leave = robots.add(page)
    const leaveB = page.add("b")
    assert.sameMembers([...robots.ids], ["a", "b"])
    leaveA()
    leaveA()
    assert.deepStrictEqual(robots.ids, ["b"])
    robots.add("b")
    leaveB()
    assert.deepStrictEqual(robots.ids, ["b"])
    leave()
    page.add("c")
    assert.deepStrictEqual(robots.ids, ["b"])
  })
})
