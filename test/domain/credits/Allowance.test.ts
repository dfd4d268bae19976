import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type Allowance, creditsAvailable, giveBack, remaining, split } from "../../../src/domain/credits/Allowance.ts"

const allowance = (quota: number | undefined, used: number, balance: number): Allowance => ({
  plan: "starter",
  quota,
  used,
  balance,
  periodStart: 0,
  resetsAt: 1
})

/** Allowances that hold I1, `0 <= used <= quota` and `balance >= 0`, with little left so that limits are met. */
const anyAllowance = fc
  .tuple(fc.nat(200_000), fc.nat(60), fc.nat(60))
  .map(([quota, left, balance]) => allowance(quota, Math.max(0, quota - left), balance))
const credits = fc.nat(130)

describe("what remains", () => {
  it("is the quota without what was used", () => {
    assert.strictEqual(remaining(allowance(100, 0, 7)), 100)
    assert.strictEqual(remaining(allowance(100, 99, 7)), 1)
    assert.strictEqual(remaining(allowance(100, 100, 7)), 0)
    assert.strictEqual(creditsAvailable(allowance(100, 40, 7)), 67)
  })

  it("R23: never runs out where usage is counted but not refused", () => {
    const counted = allowance(undefined, 1_000_000_000, 0)
    assert.deepStrictEqual(split(counted, 50), { fromQuota: 50, fromBalance: 0 })
    assert.isTrue(Number.isSafeInteger(remaining(counted)))
  })
})

describe("R30: taking credits", () => {
  const table = [
    ["fits in the quota", [100, 40, 10], 50, { fromQuota: 50, fromBalance: 0 }],
    ["is the quota's last", [100, 50, 10], 50, { fromQuota: 50, fromBalance: 0 }],
    ["splits", [100, 70, 20], 50, { fromQuota: 30, fromBalance: 20 }],
    ["is the balance's when the quota is spent", [100, 100, 50], 50, { fromQuota: 0, fromBalance: 50 }],
    ["is refused whole when both together are one short", [100, 70, 19], 50, undefined],
    ["is refused when nothing is left", [100, 100, 0], 1, undefined],
    ["of none fits even then", [100, 100, 0], 0, { fromQuota: 0, fromBalance: 0 }]
  ] as const
  for (const [what, [quota, used, balance], wanted, expected] of table) {
    it(`a request that ${what}`, () => assert.deepStrictEqual(split(allowance(quota, used, balance), wanted), expected))
  }

  it("takes exactly what was asked, quota first, and never more than there is of either", () => {
    fc.assert(
      fc.property(anyAllowance, credits, (has, wanted) => {
        const taken = split(has, wanted)
        fc.pre(taken !== undefined)
        assert.strictEqual(taken.fromQuota + taken.fromBalance, wanted)
        assert.isTrue(taken.fromQuota >= 0 && taken.fromQuota <= remaining(has))
        assert.isTrue(taken.fromBalance >= 0 && taken.fromBalance <= has.balance)
        if (taken.fromBalance > 0) assert.strictEqual(taken.fromQuota, remaining(has))
      })
    )
  })

  it("refuses exactly what remaining and balance do not cover", () => {
    fc.assert(
      fc.property(anyAllowance, credits, (has, wanted) => {
        assert.strictEqual(split(has, wanted) === undefined, wanted > remaining(has) + has.balance)
      })
    )
  })
})

describe("R30: giving back", () => {
  const table = [
    ["nothing spent", { fromQuota: 30, fromBalance: 20 }, 0, { toQuota: 30, toBalance: 20 }],
    ["pack credits first", { fromQuota: 30, fromBalance: 20 }, 35, { toQuota: 0, toBalance: 15 }],
    ["then quota", { fromQuota: 30, fromBalance: 20 }, 25, { toQuota: 5, toBalance: 20 }],
    ["all spent", { fromQuota: 30, fromBalance: 20 }, 50, { toQuota: 0, toBalance: 0 }],
    ["quota only", { fromQuota: 1, fromBalance: 0 }, 0, { toQuota: 1, toBalance: 0 }]
  ] as const
  for (const [what, held, spent, expected] of table) {
    it(what, () => assert.deepStrictEqual(giveBack(held, spent), expected))
  }

  const holdAndSpent = fc
    .tuple(fc.nat(50), fc.nat(50), fc.double({ min: 0, max: 1, noNaN: true }))
    .map(([fromQuota, fromBalance, share]) => ({
      held: { fromQuota, fromBalance },
      spent: Math.floor(share * (fromQuota + fromBalance))
    }))

  it("returns exactly what was not spent, pack credits first, and never more than either part held", () => {
    fc.assert(
      fc.property(holdAndSpent, ({ held, spent }) => {
        const back = giveBack(held, spent)
        assert.strictEqual(back.toQuota + back.toBalance + spent, held.fromQuota + held.fromBalance)
        assert.isTrue(back.toQuota >= 0 && back.toQuota <= held.fromQuota)
        assert.isTrue(back.toBalance >= 0 && back.toBalance <= held.fromBalance)
        if (back.toQuota > 0) assert.strictEqual(back.toBalance, held.fromBalance)
      })
    )
  })

  it("of a hold of which only some was spent leaves the account as if only that had been taken", () => {
    fc.assert(
      fc.property(anyAllowance, credits, fc.nat(130), (has, wanted, spent) => {
        const held = split(has, wanted)
        fc.pre(held !== undefined && spent <= wanted)
        const back = giveBack(held, spent)
        assert.deepStrictEqual(split(has, spent), {
          fromQuota: held.fromQuota - back.toQuota,
          fromBalance: held.fromBalance - back.toBalance
        })
      })
    )
  })
})
