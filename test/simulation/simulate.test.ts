import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { Auditor, Broken } from "../../simulation/Auditor.ts"
import { Agenda, clockOf } from "../../simulation/customers/Agenda.ts"
import { budgetStart, periodAround, Window } from "../../simulation/Model.ts"
import { mutations } from "../../simulation/mutations/mutations.ts"
import { simulate } from "../../simulation/simulate.ts"
import { collectionsOf, fullest } from "../../simulation/store/memory.ts"
import { Chance } from "../../simulation/world/Chance.ts"

const root = join(import.meta.dirname, "../..")

const small = { days: 5, replicas: 2, customers: 10, requests: 800, faults: true }

describe("the simulation", () => {
  it("is the same for the same seed, and another for another one", async () => {
    const first = await simulate({ ...small, seed: 11 })
    const again = await simulate({ ...small, seed: 11 })
    const other = await simulate({ ...small, seed: 12 })
    assert.isUndefined(first.failure, first.tail.join("\n"))
    assert.isUndefined(other.failure, other.tail.join("\n"))
    assert.isAbove(first.requests, 30)
    assert.strictEqual(again.digest, first.digest)
    assert.notStrictEqual(other.digest, first.digest)
  })

  it("ends with the event at which a promise is broken, and says which", async () => {
    const report = await simulate({
      ...small,
      seed: 11,
      faults: false,
      // A charge that nobody asked for.
      script: ({ agenda, store }) =>
        void agenda.after(3 * 86_400_000 + 60_000, () => {
          for (const stored of store.memory.accounts.values()) stored.balance += 1
        })
    })
    assert.match(report.failure ?? "", /^(I2|M3|X-Credits-Balance|402)/)
    assert.isNotEmpty(report.tail)
  })

  it("docs/internals/testing.md: its example is a test that runs", () => {
    const [, example] = /```ts\n(.*?)```\n/s.exec(readFileSync(join(root, "docs/internals/testing.md"), "utf8")) ?? []
    assert.strictEqual(readFileSync(join(import.meta.dirname, "ownTest.test.ts"), "utf8"), example)
  })

  it("has mistakes to look for in the product, each of which fits the sources once", () => {
    assert.isAtLeast(mutations.length, 20)
    for (const { file, from, name, to } of mutations) {
      assert.notMatch(file, /^src\/testing\//, name)
      const parts = readFileSync(join(root, file), "utf8").split(from)
      assert.lengthOf(parts, 2, `${name}: ${file}`)
      assert.notStrictEqual(from, to, name)
    }
  })
})

describe("what a process keeps", () => {
  it("is counted in the maps and sets that its services made", () => {
    const own = globalThis.Map
    const [made, kept] = collectionsOf(() => ({ map: new Map([["first", 1]]), set: new Set<string>() }))
    assert.strictEqual(globalThis.Map, own)
    assert.isUndefined(fullest(kept))
    made.set.add("one")
    for (const key of ["a", "b"]) made.map.set(key, 2)
    assert.deepStrictEqual(fullest(kept), { gained: 2, keys: "first, a, b" })
  })
})

describe("the agenda", () => {
  it("runs what is planned in the order of its time, and of its planning within a millisecond", async () => {
    const agenda = new Agenda(0)
    const seen: Array<number> = []
    const chance = new Chance("agenda")
    for (let index = 0; index < 200; index++) {
      const at = chance.between(0, 20)
      agenda.at(at, () => seen.push(at * 1_000 + index))
    }
    agenda.at(5, () => seen.push(-1)).cancel()
    await agenda.runUntil(100, () => true)
    assert.lengthOf(seen, 200)
    assert.deepStrictEqual(
      seen,
      seen.toSorted((a, b) => a - b)
    )
  })

  it("wakes nobody of a machine that has crashed", async () => {
    const agenda = new Agenda(0)
    let isOff = false
    let isAwake = false
    const clock = clockOf(agenda, { isOff: () => isOff })
    Effect.runFork(
      Effect.andThen(
        clock.sleep(Duration.millis(1)),
        Effect.sync(() => (isAwake = true))
      )
    )
    isOff = true
    await agenda.runUntil(1_000, () => true)
    assert.isFalse(isAwake)
  })
})

describe("the model", () => {
  it("R31: a cycle of the 31st ends on the last day of each month, and comes back to the 31st", () => {
    const anchor = Date.parse("2027-01-31T12:00:00Z")
    const ends = [0, 30, 60, 90].map((days) => periodAround(anchor, anchor + days * 86_400_000).end)
    assert.deepStrictEqual(
      ends.map((end) => new Date(end).toISOString().slice(0, 10)),
      ["2027-02-28", "2027-03-31", "2027-04-30", "2027-05-31"]
    )
  })

  it("R50: a budget's day and month are those of UTC, and its life has one period", () => {
    const now = Date.parse("2028-02-29T23:59:59.999Z")
    assert.strictEqual(budgetStart("day", now), Date.parse("2028-02-29T00:00:00Z"))
    assert.strictEqual(budgetStart("month", now), Date.parse("2028-02-01T00:00:00Z"))
    assert.strictEqual(budgetStart("life", now), budgetStart("life", now + 1))
  })

  it("R27: a request leaves its window after 60 seconds, to the millisecond", () => {
    const window = new Window()
    assert.isTrue(window.decide(1, 0).admitted)
    assert.isFalse(window.decide(1, 59_999).admitted)
    assert.isTrue(window.decide(1, 60_000).admitted)
  })

  it("the auditor says which promise was broken", () => {
    const auditor = new Auditor()
    auditor.hold("R1", true, () => "")
    assert.throws(() => auditor.hold("R1", false, () => "and how"), Broken, "R1: and how")
    assert.strictEqual(auditor.checks.get("R1"), 2)
  })
})
