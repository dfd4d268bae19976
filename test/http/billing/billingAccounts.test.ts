import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Billing } from "../../../src/services/billing/Billing.ts"
import { Reconciler } from "../../../src/services/billing/Reconciler.ts"
import * as PaymentProviderMemory from "../../../src/testing/PaymentProviderMemory.ts"
import { ProviderLevers } from "../../../src/testing/PaymentProviderMemory.ts"
import { SignedIn } from "../../../src/testing/SessionsMemory.ts"
import { aCaller, found, providing, servicesOver, settings, unlimited } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"
import * as MemoryStorage from "../../support/stores/MemoryStorage.ts"

const payments = Reconciler.layer.pipe(
  Layer.provideMerge(PaymentProviderMemory.layer),
  Layer.provideMerge(MemoryStorage.layer),
  Layer.provide(settings)
)

const services = Layer.merge(
  servicesOver(
    MemoryStorage.layer,
    providing(() => Effect.succeed(found(1))),
    { limiter: unlimited, billing: Layer.provide(Billing.layer, payments) }
  ),
  payments
)

/** A signed-in person, and everything that the API says of what they have. */
const aPerson = Effect.gen(function* () {
  const api = yield* TestApi.make
  const { account } = yield* aCaller({ plan: "trial" })
  const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(account))
  const headers = { cookie, origin: "http://quarry.test", "content-type": "application/json" }
  const send = (method: string, path: string, body?: object) =>
    api.send(method, path, body === undefined ? { headers } : { headers, body: JSON.stringify(body) })
  const books = Effect.map(Effect.all([send("GET", "/v1/billing"), send("GET", "/v1/usage")]), (answers) =>
    answers.map(({ json }) => json)
  )
  return { account, api, books, send }
})

type Person = Effect.Success<typeof aPerson>

/** Works on everything that the provider has delivered. */
const deliver = ({ api }: Person) =>
  Effect.gen(function* () {
    const { state } = yield* ProviderLevers
    const statuses = yield* Effect.forEach(state.outbox, ({ deliveryId }) =>
      Effect.map(
        api.send("POST", "/webhooks/billing", { headers: { "webhook-id": deliveryId }, body: "{}" }),
        ({ status }) => status
      )
    )
    for (const status of statuses) assert.strictEqual(status, 202)
    while ((yield* (yield* Reconciler).drainInbox) > 0);
  })

const pay = (url: string) => Effect.flatMap(ProviderLevers, (levers) => levers.pay(url.slice(url.lastIndexOf("/") + 1)))

/** Buys a plan and a pack, and answers the ids of the checkouts. */
const buy = Effect.fnUntraced(function* (person: Person) {
  const bought: Array<string> = []
  for (const [path, body] of [
    ["checkout", { plan: "growth" }],
    ["packs", { credits: 10_000 }]
  ] as const) {
    const { json, status } = yield* person.send("POST", `/v1/billing/${path}`, body)
    assert.strictEqual(status, 201)
    yield* pay(json.checkout_url)
    yield* deliver(person)
    bought.push(json.checkout_url.slice(json.checkout_url.lastIndexOf("/") + 1))
  }
  return bought
})

layer(services)("two accounts", (it) => {
  it.effect("M4: no billing route and no delivery of one account changes the other's books", () =>
    Effect.gen(function* () {
      const [payer, other] = [yield* aPerson, yield* aPerson]
      const checkouts = yield* buy(payer)
      const [{ balance, plan }] = yield* payer.books
      assert.deepStrictEqual([plan, balance], ["growth", 10_000])
      const before = yield* Effect.all([payer.books, other.books])

      const attempts: ReadonlyArray<readonly [number, string, object?]> = [
        ...checkouts.map((checkout_id) => [200, "sync", { checkout_id }] as const),
        [409, "plan", { plan: "business" }],
        [409, "packs", { credits: 100_000 }],
        [409, "portal"],
        [201, "checkout", { plan: "starter" }]
      ]
      for (const [status, path, body] of attempts) {
        assert.strictEqual((yield* other.send("POST", `/v1/billing/${path}`, body)).status, status, path)
        // The provider may be asked again (R42).
        yield* TestClock.adjust("6 seconds")
        assert.deepStrictEqual(
          (yield* Effect.all([payer.books, other.books])).map(([billing]) => billing),
          [before[0][0], before[1][0]],
          path
        )
      }

      // What happens to the one is nothing to the other, in both directions.
      yield* buy(other)
      const [bystander] = yield* payer.books
      assert.deepStrictEqual(bystander, before[0][0])
      const { orders } = (yield* ProviderLevers).state
      const [packOrder] = [...orders.values()].filter(
        ({ accountId, purchase }) => accountId === payer.account.id && purchase.kind === "pack"
      )
      const mine = yield* other.books
      yield* Effect.flatMap(ProviderLevers, (levers) => levers.refund(packOrder?.id ?? "", 800))
      yield* deliver(payer)
      assert.strictEqual((yield* payer.books)[0].balance, 0)
      assert.deepStrictEqual((yield* other.books)[0], mine[0])
    })
  )
})
