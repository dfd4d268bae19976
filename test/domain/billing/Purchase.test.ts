import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  creditsBought,
  creditsGranted,
  creditsRefunded,
  creditsTakenBack,
  isUpgrade,
  packPrice,
  packSizes,
  soldPlans
} from "../../../src/domain/billing/Purchase.ts"
import { standardPlans } from "../../../src/domain/credits/Plan.ts"

const size = Schema.Literals(packSizes)
const plan = Schema.Literals(soldPlans)
const cents = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20_000 }))

describe("Purchase", () => {
  it("R36: packs cost 150, 80 or 60 cents for 1,000 credits", () => {
    const prices = soldPlans.map((name) =>
      packSizes.map((credits) => packPrice(credits, standardPlans[name].packCentsPer1000))
    )
    assert.deepStrictEqual(prices, [
      [1_500, 7_500, 15_000],
      [800, 4_000, 8_000],
      [600, 3_000, 6_000]
    ])
  })

  it.prop("an upgrade back and forth is a downgrade, and no plan is an upgrade of itself", { a: plan, b: plan }, (it) =>
    assert.strictEqual(isUpgrade(it.a, it.b) && isUpgrade(it.b, it.a), false)
  )

  it.prop(
    "R40: a refund never takes back more than the pack, and never less than its share",
    { credits: size, net: cents, refunded: cents },
    ({ credits, net, refunded }) => {
      const back = creditsRefunded(credits, net, refunded)
      assert.isTrue(Number.isInteger(back) && back >= 0 && back <= credits)
      if (net > 0) assert.isAtLeast(back * net, Math.min(refunded, net) * credits)
      if (refunded === 0) assert.strictEqual(back, 0)
      if (refunded >= net && refunded > 0) assert.strictEqual(back, credits)
      assert.isAtLeast(creditsRefunded(credits, net, refunded + 1), back)
    }
  )

  it.prop(
    "R36: another amount than the quoted one buys at the quoted rate",
    { credits: size, plan, net: cents },
    (it) => {
      const quoted = packPrice(it.credits, standardPlans[it.plan].packCentsPer1000)
      const bought = creditsBought(it.credits, quoted, it.net)
      assert.isAtMost(bought * quoted, it.credits * it.net)
      assert.strictEqual(creditsBought(it.credits, quoted, quoted), it.credits)
      assert.strictEqual(creditsBought(it.credits, 0, it.net), it.credits)
    }
  )

  it.prop(
    "R38, R40: an order grants only once and when it is paid, and a void order or a lost dispute takes all of it back",
    { credits: size, net: cents, refunded: cents },
    ({ credits, net, refunded }) => {
      const purchase = { kind: "pack", credits, quotedCents: net } as const
      assert.strictEqual(creditsGranted(0, { netCents: net, purchase, status: "paid" }), credits)
      assert.strictEqual(creditsGranted(0, { netCents: net, purchase, status: "pending" }), 0)
      assert.strictEqual(creditsGranted(0, { netCents: net, purchase: { kind: "plan" }, status: "paid" }), 0)
      assert.strictEqual(creditsGranted(7, { netCents: net, purchase, status: "void" }), 7)
      const paid = {
        granted: credits,
        isDisputeLost: false,
        netCents: net,
        refundedCents: refunded,
        status: "paid"
      } as const
      assert.strictEqual(creditsTakenBack(paid), creditsRefunded(credits, net, refunded))
      assert.strictEqual(creditsTakenBack({ ...paid, isDisputeLost: true }), credits)
      assert.strictEqual(creditsTakenBack({ ...paid, status: "void" }), credits)
    }
  )
})
