import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { FairQueue } from "../../../src/domain/fairness/FairQueue.ts"

const roomy = { items: 1_000, bytes: 1_000_000 }

describe("a fair queue", () => {
  it("R60: an account with quick pages passes one whose pages each take seconds", () => {
    const queue = new FairQueue<string>(roomy)
    for (let page = 0; page < 20; page++) queue.offer("hostile", `h${page}`, 1)
    const first = queue.take()
    queue.finish("hostile", 5_000)
    assert.strictEqual(first?.item, "h0")
    for (let page = 0; page < 5; page++) queue.offer("honest", `q${page}`, 1)
    const order: Array<string | undefined> = []
    for (let turn = 0; turn < 5; turn++) {
      const next = queue.take()
      order.push(next?.accountId)
      queue.finish(next?.accountId ?? "", next?.accountId === "hostile" ? 5_000 : 20)
    }
    assert.deepStrictEqual(order, ["honest", "honest", "honest", "honest", "honest"])
  })

  it("R60: shares time equally between accounts that always have documents, at any cost of each", () => {
    const costs = fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 2, maxLength: 5 })
    fc.assert(
      fc.property(costs, (costsMs) => {
        const queue = new FairQueue<number>(roomy)
        const spent = costsMs.map(() => 0)
        for (const account of costsMs.keys()) for (let item = 0; item < 2; item++) queue.offer(`${account}`, item, 1)
        for (let turn = 0; turn < 500; turn++) {
          const next = queue.take()
          const account = Number(next?.accountId)
          const cost = costsMs[account] ?? 0
          spent[account] = (spent[account] ?? 0) + cost
          queue.offer(`${account}`, turn, 1)
          queue.finish(`${account}`, cost)
        }
        const active = costsMs.map((cost, index) => ({ cost, spent: spent[index] ?? 0 }))
        const least = Math.min(...active.map((each) => each.spent))
        const greatest = Math.max(...active.map((each) => each.spent))
        assert.isAtMost(greatest - least, 2 * Math.max(...costsMs))
      })
    )
  })

  it("R83: shares time equally among accounts however many run at once, and though some of their items are not ready", () => {
    const situation = fc.record({
      costsMs: fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 2, maxLength: 5 }),
      slots: fc.integer({ min: 1, max: 4 }),
      share: fc.integer({ min: 1, max: 3 })
    })
    fc.assert(
      fc.property(situation, ({ costsMs, share, slots }) => {
        const queue = new FairQueue<number>(roomy, share)
        const neverReady = 0
        const spent = costsMs.map(() => 0)
        const running: Array<{ readonly account: number; readonly endsAt: number }> = []
        for (const account of costsMs.keys())
          for (const item of [neverReady, ...Array.from({ length: share + 1 }, () => 1)])
            queue.offer(`${account}`, item, 1)
        let now = 0
        for (let turn = 0; turn < 500; turn++) {
          while (running.length < slots) {
            const next = queue.take((item) => (item === neverReady ? Number.POSITIVE_INFINITY : 0))
            if (next === undefined) break
            assert.notStrictEqual(next.item, neverReady)
            const account = Number(next.accountId)
            assert.isBelow(running.filter((each) => each.account === account).length, share)
            running.push({ account, endsAt: now + (costsMs[account] ?? 0) })
          }
          running.sort((a, b) => a.endsAt - b.endsAt)
          const [first] = running.splice(0, 1)
          assert.isDefined(first)
          const { account, endsAt } = first ?? { account: 0, endsAt: 0 }
          now = endsAt
          const cost = costsMs[account] ?? 0
          spent[account] = (spent[account] ?? 0) + cost
          queue.offer(`${account}`, 1, 1)
          queue.finish(`${account}`, cost)
        }
        const atOnce = Math.min(slots, share)
        assert.isAtMost(Math.max(...spent) - Math.min(...spent), (atOnce + 1) * Math.max(...costsMs))
      })
    )
  })

  it("takes the item with the lowest rank of an account, and an account's outside cost counts", () => {
    const queue = new FairQueue<number>(roomy)
    for (const item of [3, 1, 2, 1.5]) queue.offer("a", item, 1)
    queue.offer("b", 9, 1)
    queue.charge("a", 1)
    const order = Array.from({ length: 5 }, () => {
      const next = queue.take((item) => item)
      queue.finish(next?.accountId ?? "", 1)
      return next?.item
    })
    assert.deepStrictEqual(order, [9, 1, 1.5, 2, 3])
  })

  it("keeps every item until it is taken, removed or pushed out, each once, and stays within its limits", () => {
    const step = fc.record({
      account: fc.constantFrom("a", "b", "c"),
      act: fc.constantFrom("offer", "offer", "take", "remove"),
      bytes: fc.integer({ min: 0, max: 50 })
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const queue = new FairQueue<number>({ items: 8, bytes: 100 })
        const waiting = new Map<number, string>()
        for (const [item, { account, act, bytes }] of steps.entries()) {
          if (act === "offer") {
            waiting.set(item, account)
            for (const out of queue.offer(account, item, bytes)) assert.isTrue(waiting.delete(out))
          } else if (act === "take") {
            const next = queue.take()
            assert.strictEqual(next === undefined, waiting.size === 0)
            if (next === undefined) continue
            assert.strictEqual(waiting.get(next.item), next.accountId)
            waiting.delete(next.item)
            queue.finish(next.accountId, bytes)
          } else {
            const [[waits, owner] = [-1, account]] = waiting
            assert.strictEqual(queue.remove(owner, waits), waiting.delete(waits))
          }
          assert.strictEqual(queue.size, waiting.size)
          assert.isAtMost(queue.size, 8)
        }
      })
    )
  })

  it("pushes out the newest document of the account that has the most waiting", () => {
    const queue = new FairQueue<string>({ items: 3, bytes: 1_000 })
    queue.offer("greedy", "g1", 10)
    queue.offer("greedy", "g2", 10)
    queue.offer("greedy", "g3", 10)
    assert.deepStrictEqual(queue.offer("modest", "m1", 10), ["g3"])
  })
})
