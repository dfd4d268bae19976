import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { Nudge } from "../../../src/services/billing/PaymentProvider.ts"
import type { Levers } from "../../support/polar/Deliveries.ts"
import { polar } from "../../support/polar/Provider.ts"
import { serve } from "../../support/servers/UpstreamServer.ts"

/** A fake that delivers to a server, which answers each delivery with the next of these statuses and then with 202. */
const delivering = Effect.fnUntraced(function* (levers: Partial<Levers> = {}, statuses: Array<number> = []) {
  const receiver = yield* serve((_, response) => void response.writeHead(statuses.shift() ?? 202).end())
  const { fake, provider } = yield* polar({ webhookUrl: receiver.url })
  Object.assign(fake.deliveries.levers, levers)
  const buy = Effect.fnUntraced(function* () {
    const customerId = yield* provider.customerOf("acc_ada", "ada@example.com", () => Effect.succeed(false))
    const buyer = { accountId: "acc_ada", email: "ada@example.com", customerId, address: undefined }
    fake.model.pay((yield* provider.openPlanCheckout(buyer, "starter")).id)
    yield* Effect.promise(() => fake.deliveries.idle())
  })
  /** What the adapter makes of the deliveries, in the order in which they came; undefined where it refuses one. */
  const nudges = Effect.suspend(() =>
    Effect.forEach(receiver.received, ({ body, headers }) => {
      const single = Object.entries(headers).map(([name, value]) => [name, `${value}`] as const)
      return Effect.map(
        Effect.result(provider.verify(Object.fromEntries(single), Buffer.from(body))),
        (judged): Nudge | undefined => (Result.isSuccess(judged) ? judged.success : undefined)
      )
    })
  )
  return { fake, buy, nudges, receiver }
})

const purchase = ["subscription.created", "subscription.updated", "order.updated", "order.paid"]
const kinds = (nudges: ReadonlyArray<Nudge | undefined>) => nudges.map((nudge) => nudge?.kind)

describe("deliveries of the fake", () => {
  it.live.each(["whole", "decoded"] as const)("are accepted when they are signed with the %s secret", (signature) =>
    Effect.gen(function* () {
      const { buy, fake, nudges } = yield* delivering({ signature })
      yield* buy()
      const made = yield* nudges
      assert.deepStrictEqual(kinds(made), purchase)
      const [subscription] = [...fake.model.subscriptions.keys()]
      const [order] = [...fake.model.orders.keys()]
      assert.deepStrictEqual(
        made.map((nudge) => (nudge !== undefined && "id" in nudge.object ? nudge.object.id : undefined)),
        [subscription, subscription, order, order]
      )
    })
  )

  it.live.each([{ signature: "wrong" }, { signature: "none" }, { skewSeconds: -310 }, { skewSeconds: 310 }] as const)(
    "are refused with %j",
    (levers) =>
      Effect.gen(function* () {
        const { buy, nudges } = yield* delivering(levers)
        yield* buy()
        assert.deepStrictEqual(yield* nudges, Array(4).fill(undefined))
      })
  )

  it.live("come several times with one id, in reverse, or not at all", () =>
    Effect.gen(function* () {
      const { buy, fake, nudges, receiver } = yield* delivering({ copies: 2, hold: true })
      yield* buy()
      assert.lengthOf(receiver.received, 0)
      yield* Effect.promise(() => fake.deliveries.release("reverse"))
      const made = yield* nudges
      assert.deepStrictEqual(
        kinds(made),
        purchase.toReversed().flatMap((kind) => [kind, kind])
      )
      assert.strictEqual(new Set(made.map((nudge) => nudge?.deliveryId)).size, 4)
      Object.assign(fake.deliveries.levers, { hold: false, drop: 1 })
      fake.model.advance(40 * 86_400_000)
      yield* Effect.promise(() => fake.deliveries.idle())
      assert.lengthOf(receiver.received, 8)
    })
  )

  it.live("that failed come again with the same id and body, even after a later delivery", () =>
    Effect.gen(function* () {
      const { buy, nudges, receiver } = yield* delivering({ retryMs: 200 }, [500])
      yield* buy()
      while (receiver.received.length < 5) yield* Effect.promise(() => new Promise(setImmediate))
      const made = yield* nudges
      assert.sameMembers(kinds(made), [...purchase, "subscription.created"])
      assert.deepStrictEqual(kinds(made).slice(0, 2), ["subscription.created", "subscription.updated"])
      const again = kinds(made).lastIndexOf("subscription.created")
      assert.strictEqual(made[0]?.deliveryId, made[again]?.deliveryId)
      assert.strictEqual(receiver.received[0]?.body, receiver.received[again]?.body)
    })
  )

  it.live("end with the endpoint switched off, after ten events in a row that failed", () =>
    Effect.gen(function* () {
      const { buy, fake } = yield* delivering({ maxAttempts: 1 }, Array(100).fill(500))
      yield* buy()
      fake.model.advance(80 * 86_400_000)
      yield* Effect.promise(() => fake.deliveries.idle())
      assert.isFalse(fake.deliveries.endpoint?.enabled)
      const { length } = fake.deliveries.events
      fake.model.advance(40 * 86_400_000)
      assert.lengthOf(fake.deliveries.events, length)
    })
  )
})
