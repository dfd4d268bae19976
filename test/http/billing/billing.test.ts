import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { RateLimit } from "../../../src/domain/accounts/Principal.ts"
import { type PlanTable, standardPlans } from "../../../src/domain/credits/Plan.ts"
import {
  BillingBusy,
  BillingUnavailable,
  NoSubscription,
  PaymentFailed,
  PlanUnchanged
} from "../../../src/domain/errors.ts"
import { deliveriesPerMinuteOfAddress, deliveriesPerMinuteOfSender } from "../../../src/http/middleware/addressLimit.ts"
import * as RateLimiterMemory from "../../../src/layers/memory/RateLimiterMemory.ts"
import type { Billing } from "../../../src/services/billing/Billing.ts"
import { DeliveryInvalid } from "../../../src/services/billing/PaymentProvider.ts"
import { Plans } from "../../../src/services/credits/Plans.ts"
import { RateLimiter } from "../../../src/services/credits/RateLimiter.ts"
import type * as InMemory from "../../../src/testing/InMemory.ts"
import { SignedIn } from "../../../src/testing/SessionsMemory.ts"
import * as BillingStub from "../../support/accounts/BillingStub.ts"
import { aSubscriber } from "../../support/accounts/payments.ts"
import { aCaller, found, providing, servicesOver, settings, unlimited } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"
import * as MemoryStorage from "../../support/stores/MemoryStorage.ts"
import { startingAt } from "../../support/Time.ts"

const providers = providing(() => Effect.succeed(found(1)))

const selling = (
  replaced: Partial<Billing["Service"]> = {},
  calls: Array<BillingStub.Call> = [],
  options: InMemory.Options = {}
) =>
  servicesOver(MemoryStorage.layer, providers, {
    limiter: unlimited,
    billing: BillingStub.layer(replaced, calls),
    ...options
  })

const sellingNothing = servicesOver(MemoryStorage.layer, providers, { cacheTtl: Duration.zero })

const ownPlans: PlanTable = {
  ...standardPlans,
  growth: { name: "Team", quota: 90_000, concurrency: 6, priceCents: 5_900, packCentsPer1000: 0 }
}

/** A signed-in person on the page of this deployment. */
const aPerson = Effect.gen(function* () {
  const api = yield* TestApi.make
  const caller = yield* aCaller({ plan: "growth" })
  const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(caller.account))
  const headers = { cookie, origin: "http://quarry.test", "content-type": "application/json" }
  const send = (method: string, path: string, body?: unknown, more: Record<string, string> = {}) =>
    api.send(method, path, {
      headers: { ...headers, ...more },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
    })
  return { ...caller, api, headers, send }
})

const purchases = [
  ["/v1/billing/checkout", { plan: "growth" }],
  ["/v1/billing/plan", { plan: "business" }],
  ["/v1/billing/packs", { credits: 10_000 }],
  ["/v1/billing/portal", undefined],
  ["/v1/billing/sync", {}]
] as const

describe("the billing routes", () => {
  it.effect("R47: GET /v1/billing shows subscription, prices and pack credits", () =>
    Effect.gen(function* () {
      const person = yield* aPerson
      const answer = yield* person.send("GET", "/v1/billing")
      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(answer.json, {
        open: true,
        plan: "growth",
        plan_name: "Growth",
        subscription: {
          status: "past_due",
          plan: "growth",
          current_period_start: "2026-01-31T08:00:00.000Z",
          current_period_end: "2026-02-28T08:00:00.000Z",
          cancel_at_period_end: false,
          pending_plan: "starter",
          pending_at: "2026-02-28T08:00:00.000Z",
          past_due_since: "2026-01-31T08:00:00.000Z",
          grace_until: "2026-02-03T08:00:00.000Z"
        },
        plans: [
          { plan: "starter", name: "Starter", price: 900, requests: 5_000, concurrency: 2, pack_rate: 150 },
          { plan: "growth", name: "Growth", price: 4_900, requests: 75_000, concurrency: 5, pack_rate: 80 },
          { plan: "business", name: "Business", price: 9_900, requests: 200_000, concurrency: 10, pack_rate: 60 }
        ],
        packs: [{ credits: 10_000, price: 800 }],
        currency: "usd",
        balance: 12_000,
        owed: 34
      })
    }).pipe(Effect.provide(selling()))
  )

  it.effect("R75: GET /v1/billing, GET /v1/usage and /docs show the operator's plans", () =>
    Effect.gen(function* () {
      const person = yield* aPerson
      const { json } = yield* person.send("GET", "/v1/billing")
      assert.strictEqual(json.plan_name, "Team")
      const team = { name: "Team", price: 5_900, requests: 90_000, concurrency: 6, pack_rate: 0 }
      assert.deepStrictEqual(json.plans[1], { plan: "growth", ...team })
      assert.strictEqual((yield* person.send("GET", "/v1/usage")).json.plan_name, "Team")
      const page = (yield* person.send("GET", "/docs")).text
      assert.include(page, "<strong>Team</strong>: 90,000 searches a month, 360 requests a minute, $59.00 a month.")
    }).pipe(Effect.provide(selling({}, [], { settings: Layer.merge(settings, Layer.succeed(Plans, ownPlans)) })))
  )

  it.effect("R47: each purchase answers its page or its change, for the account of the session", () => {
    const calls: Array<BillingStub.Call> = []
    return Effect.gen(function* () {
      const person = yield* aPerson
      const page = { expires_at: "2026-02-01T00:00:00.000Z" }
      const expected = [
        [201, { checkout_url: "https://pay.test/1", ...page }],
        [200, { plan: "business", pending_plan: null, effective_at: "2026-02-01T00:00:00.000Z" }],
        [201, { checkout_url: "https://pay.test/1", ...page, credits: 10_000, price: 800 }],
        [201, { portal_url: "https://pay.test/1", ...page }]
      ]
      for (const [index, [path, body]] of purchases.slice(0, 4).entries()) {
        const answer = yield* person.send("POST", path, body, { "x-forwarded-for": "2001:db8::17" })
        assert.deepStrictEqual([answer.status, answer.json], expected[index], path)
      }
      const synced = yield* person.send("POST", "/v1/billing/sync", { checkout_id: "c-1" })
      assert.strictEqual(synced.json.owed, 34)
      assert.deepStrictEqual(
        calls.map(({ args, method }) => [method, ...args]),
        [
          ["checkout", "growth", "2001:db8::17"],
          ["changePlan", "business", undefined],
          ["buyPack", 10_000, "2001:db8::17"],
          ["portal"],
          ["sync", "c-1"]
        ]
      )
      for (const { accountId } of calls) assert.strictEqual(accountId, person.account.id)
    }).pipe(Effect.provide(selling({}, calls)))
  })

  it.effect.each([
    ["/v1/billing/checkout", {}, "plan", "is required"],
    ["/v1/billing/checkout", { plan: "custom" }, "plan", "must be one of starter, growth, business"],
    ["/v1/billing/checkout", { plan: "trial" }, "plan", "must be one of starter, growth, business"],
    ["/v1/billing/plan", { plan: 1 }, "plan", "must be one of starter, growth, business"],
    ["/v1/billing/plan", { plan: "growth", when: "later" }, "when", "must be one of now, period_end"],
    ["/v1/billing/packs", { credits: 20_000 }, "credits", "must be one of 10000, 50000, 100000"],
    ["/v1/billing/packs", { credits: "10000" }, "credits", "must be one of 10000, 50000, 100000"],
    ["/v1/billing/sync", { checkout_id: "../orders" }, "checkout_id", "must be the checkout_id from the URL"],
    ["/v1/billing/sync", [], "", "the body must be a JSON object"],
    ["/v1/billing/packs", "{", "", "the body is not valid JSON"]
  ] as const)("R6: POST %s with %j is invalid_request and reaches nobody", ([path, body, field, message]) => {
    const calls: Array<BillingStub.Call> = []
    return Effect.gen(function* () {
      const person = yield* aPerson
      const answer = yield* person.send("POST", path, body)
      assert.strictEqual(answer.status, 400)
      assert.strictEqual(answer.json.error, "invalid_request")
      assert.strictEqual(answer.json.issues[0].field, field)
      assert.include(answer.json.issues[0].message, message)
      assert.deepStrictEqual(calls, [])
    }).pipe(Effect.provide(selling({}, calls)))
  })

  it.effect("R33, R42: each refusal has its status, and Retry-After where another attempt may succeed", () => {
    const message = "for a test"
    const refusals = [
      [new PaymentFailed({ message }), 409, null],
      [new BillingBusy({ message, retryAfterSeconds: 1 }), 409, "1"],
      [new NoSubscription({ message }), 409, null],
      [new PlanUnchanged({ message }), 409, null],
      [new BillingUnavailable({ message }), 503, null],
      [new BillingUnavailable({ message, retryAfterSeconds: 30 }), 503, "30"]
    ] as const
    return Effect.forEach(
      refusals,
      Effect.fnUntraced(function* ([error, status, retryAfter]) {
        const answer = yield* Effect.flatMap(aPerson, (person) =>
          person.send("POST", "/v1/billing/plan", { plan: "growth" })
        ).pipe(Effect.provide(selling({ changePlan: () => Effect.fail(error) })))
        assert.deepStrictEqual([answer.status, answer.json.error], [status, error._tag])
        assert.strictEqual(answer.headers.get("retry-after"), retryAfter)
        assert.strictEqual(answer.json.request_id, answer.headers.get("x-request-id"))
      })
    )
  })

  it.effect(
    "R42: without a provider everything but GET /v1/billing is billing_unavailable, after the request is read",
    () =>
      Effect.gen(function* () {
        const person = yield* aPerson
        const state = yield* person.send("GET", "/v1/billing")
        assert.deepStrictEqual([state.status, state.json.open, state.json.subscription], [200, false, null])
        for (const [path, body] of purchases) {
          const answer = yield* person.send("POST", path, body)
          assert.deepStrictEqual([answer.status, answer.json.error], [503, "billing_unavailable"], path)
          assert.isNull(answer.headers.get("retry-after"))
        }
        assert.strictEqual((yield* person.send("POST", "/v1/billing/packs", { credits: 1 })).status, 400)
        const delivery = yield* person.api.send("POST", "/webhooks/billing", { body: BillingStub.goodDelivery })
        assert.deepStrictEqual([delivery.status, delivery.json.error], [503, "billing_unavailable"])
      }).pipe(Effect.provide(sellingNothing))
  )

  it.effect("R42: without a provider the books are shown as they are, and nothing is offered", () =>
    Effect.gen(function* () {
      const person = yield* aPerson
      yield* aSubscriber(person.account)
      const { json, status } = yield* person.send("GET", "/v1/billing")
      assert.strictEqual(status, 200)
      assert.deepInclude(json, { open: false, plan: "growth", packs: [], balance: 0, owed: 5_000 })
      assert.deepInclude(json.subscription, {
        status: "active",
        plan: "growth",
        current_period_start: "2026-03-01T00:00:00.000Z",
        current_period_end: "2026-04-01T00:00:00.000Z",
        cancel_at_period_end: true
      })
    }).pipe(Effect.provide(sellingNothing), startingAt("2026-03-10T12:30:00Z"))
  )

  it.effect("R25: a purchase that does not come from this deployment's own page is 401 and reaches nobody", () => {
    const calls: Array<BillingStub.Call> = []
    return Effect.gen(function* () {
      const { api, headers } = yield* aPerson
      const { origin: _, ...withoutOrigin } = headers
      const elsewhere = [
        withoutOrigin,
        { ...headers, origin: "https://evil.test" },
        { ...headers, origin: "null" },
        { ...withoutOrigin, "sec-fetch-site": "cross-site" },
        { ...withoutOrigin, "sec-fetch-site": "same-site" }
      ]
      for (const [path, body] of purchases) {
        for (const sent of elsewhere) {
          const answer = yield* api.send("POST", path, { headers: sent, body: JSON.stringify(body ?? {}) })
          assert.strictEqual(answer.status, 401, path)
        }
      }
      assert.deepStrictEqual(calls, [])
    }).pipe(Effect.provide(selling({}, calls)))
  })
})

describe("POST /webhooks/billing", () => {
  /** The limiter with all limits divided by this, so that fewer requests reach them. */
  const scale = 50
  const smallLimiter = Layer.effect(
    RateLimiter,
    Effect.map(RateLimiter, ({ hit }) => ({
      hit: ({ credential, limit }: RateLimit) => hit({ credential, limit: limit / scale })
    }))
  ).pipe(Layer.provide(RateLimiterMemory.layer()))
  const forged = Effect.fail(new DeliveryInvalid({ reason: "forged" }))
  const limited = (receive: (body: Uint8Array) => Effect.Effect<void, DeliveryInvalid>) =>
    servicesOver(MemoryStorage.layer, providers, {
      limiter: smallLimiter,
      billing: BillingStub.layer({ receive: (_headers, body) => receive(body) })
    })

  const deliver = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
    Effect.flatMap(TestApi.make, (api) => api.send("POST", "/webhooks/billing", { body, headers }))

  it.effect("R37: a delivery of the provider is 202 without a body", () =>
    Effect.gen(function* () {
      const answer = yield* deliver(BillingStub.goodDelivery)
      assert.deepStrictEqual([answer.status, answer.text], [202, ""])
    }).pipe(Effect.provide(selling()))
  )

  it.effect("R37: the signature is judged over the headers and the bytes as they came", () => {
    const received: Array<unknown> = []
    const bytes = new Uint8Array([0x7b, 0xff, 0x0d, 0x0a, 0x7d])
    return Effect.gen(function* () {
      const headers = { "webhook-id": "e-1", "webhook-signature": "v1,x v1,y", "content-type": "text/plain" }
      assert.strictEqual((yield* deliver(bytes, headers)).status, 202)
      assert.deepStrictEqual(received, [["e-1", "v1,x v1,y", bytes]])
    }).pipe(
      Effect.provide(
        selling({
          receive: (headers, body) =>
            Effect.sync(() => {
              received.push([headers["webhook-id"], headers["webhook-signature"], new Uint8Array(body)])
            })
        })
      )
    )
  })

  it.effect("R47: a forged delivery is 401, with any of our credentials", () =>
    Effect.gen(function* () {
      const { auth, headers } = yield* aPerson
      for (const credential of [{}, auth, headers]) {
        const answer = yield* deliver("forged", credential)
        assert.deepStrictEqual([answer.status, answer.json.error], [401, "unauthorized"])
        assert.deepStrictEqual(TestApi.apiHeaders(answer), ["x-request-id"])
      }
    }).pipe(Effect.provide(selling()))
  )

  it.effect(
    "R37: a delivery that cannot be stored now is 503 with Retry-After, so that the provider sends it again",
    () =>
      Effect.gen(function* () {
        const answer = yield* deliver(BillingStub.goodDelivery)
        assert.deepStrictEqual([answer.status, answer.headers.get("retry-after")], [503, "5"])
      }).pipe(
        Effect.provide(
          selling({ receive: () => Effect.fail(new BillingUnavailable({ message: "later", retryAfterSeconds: 5 })) })
        )
      )
  )

  it.effect(
    "R24: too many deliveries from one address are 429 with Retry-After, before the signature is checked",
    () => {
      let judged = 0
      return Effect.gen(function* () {
        const status = (address: string, body = "forged") =>
          Effect.map(deliver(body, { "x-forwarded-for": address }), (answer) => answer.status)
        const perMinute = deliveriesPerMinuteOfSender / scale
        for (let n = 0; n < perMinute; n++) assert.strictEqual(yield* status(`2001:db8:0:7::${n}`), 401)
        assert.strictEqual(judged, perMinute)
        const refused = yield* deliver(BillingStub.goodDelivery, { "x-forwarded-for": "2001:db8:0:7:ffff::1" })
        assert.deepStrictEqual([refused.status, refused.json.error], [429, "rate_limited"])
        assert.deepStrictEqual(TestApi.apiHeaders(refused), ["retry-after", "x-request-id"])
        assert.strictEqual(judged, perMinute)
        assert.strictEqual(yield* status("2001:db8:0:8::1", BillingStub.goodDelivery), 202)
        assert.strictEqual(yield* status("192.0.2.1", BillingStub.goodDelivery), 202)
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(yield* status("2001:db8:0:7::1", BillingStub.goodDelivery), 202)
      }).pipe(
        Effect.provide(
          limited((body) => {
            judged++
            return Buffer.from(body).toString() === "forged" ? forged : Effect.void
          })
        )
      )
    }
  )

  it.effect("R24: behind a proxy that is not trusted, a stranger does not use up what the provider needs", () =>
    Effect.gen(function* () {
      // One proxy is trusted here, so that the entry before the last is what one more proxy appended.
      const status = (address: string) =>
        Effect.map(deliver("any", { "x-forwarded-for": `${address}, 192.0.2.1` }), (answer) => answer.status)
      const perMinute = deliveriesPerMinuteOfSender / scale
      for (let n = 0; n < 3 * perMinute; n++) yield* status("203.0.113.9")
      assert.strictEqual(yield* status("203.0.113.9"), 429)
      assert.strictEqual(yield* status("198.51.100.4"), 202)
      // Somebody who invents the address before the proxy's is limited by the proxy's own.
      const statuses: Array<number> = []
      for (let n = 0; n < deliveriesPerMinuteOfAddress / scale; n++)
        statuses.push(yield* status(`10.0.${n >> 8}.${n & 255}`))
      const admitted = statuses.filter((it) => it === 202).length
      assert.strictEqual(admitted, deliveriesPerMinuteOfAddress / scale - perMinute - 1)
    }).pipe(Effect.provide(limited(() => Effect.void)))
  )

  it.effect("R3: a body over 256 KiB is refused unread, another method is not found", () =>
    Effect.gen(function* () {
      const answer = yield* deliver("a".repeat(256 * 1024 + 1))
      assert.deepStrictEqual([answer.status, answer.json.issues[0].field], [400, ""])
      const api = yield* TestApi.make
      for (const method of ["GET", "PUT", "DELETE"]) {
        assert.strictEqual((yield* api.send(method, "/webhooks/billing")).status, 404)
      }
    }).pipe(Effect.provide(selling({ receive: () => Effect.die("was read") })))
  )
})
