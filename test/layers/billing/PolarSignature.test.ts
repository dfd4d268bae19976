import { createHmac } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { signingKeys, verify } from "../../../src/layers/billing/PolarSignature.ts"
import type { Nudge } from "../../../src/services/billing/PaymentProvider.ts"

/** A vector that was checked with Polar's own library: both keys that it accepts. */
const secret = "whsec_QuarryTestSecret0123456789abcdef"
const id = "6f1c2a52-0d6e-4d5a-9f55-2f6f1f0c9a11"
const seconds = 1_795_305_600
const orderId = "0b4b6a54-6d4b-4d0e-8a0e-2d9c2f1f0001"
const body = `{"type":"order.paid","timestamp":"2026-11-22T00:00:00Z","data":{"id":"${orderId}"}}`
const signedWhole = "v1,JdxsJbzChu8xd5F2DNPWcU+jfv6DHPrR8DVJ9Rul+aA="
const signedDecoded = "v1,Zvuj3bTyzNTBM2tLkgYiNIUBwaOT271D25/HgVj9WxY="

const keys = signingKeys([Redacted.make(secret)])

interface Delivery {
  readonly body?: string
  readonly id?: string | undefined
  readonly timestamp?: string | undefined
  readonly signature?: string | undefined
  readonly now?: number
  readonly keys?: ReadonlyArray<Buffer>
}

const judged = (delivery: Delivery) =>
  verify(
    delivery.keys ?? keys,
    {
      "webhook-id": "id" in delivery ? delivery.id : id,
      "webhook-timestamp": "timestamp" in delivery ? delivery.timestamp : `${seconds}`,
      "webhook-signature": "signature" in delivery ? delivery.signature : signedWhole
    },
    Buffer.from(delivery.body ?? body),
    (delivery.now ?? seconds) * 1000
  )

const signed = (text: string): Delivery => ({
  body: text,
  signature: `v1,${createHmac("sha256", secret).update(`${id}.${seconds}.${text}`).digest("base64")}`
})

describe("R37: a delivery is accepted", () => {
  const nudge: Nudge = { deliveryId: id, kind: "order.paid", object: { kind: "order", id: orderId } }
  it.effect.each([
    ["signed with the whole text of the secret", {}],
    ["signed with the bytes that the secret stands for", { signature: signedDecoded }],
    ["with one good signature among others", { signature: `v1a,x v1,${"A".repeat(43)}= ${signedDecoded}` }],
    ["300 s late", { now: seconds + 300 }],
    ["300 s early", { now: seconds - 300 }],
    ["during a rotation", { keys: signingKeys([Redacted.make("whsec_other"), Redacted.make(secret)]) }]
  ] satisfies ReadonlyArray<[string, Delivery]>)("%s", ([, delivery]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* judged(delivery), nudge)
    })
  )
})

describe("R37: a delivery is refused", () => {
  it.effect.each([
    ["301 s late", { now: seconds + 301 }],
    ["301 s late, with the other key", { now: seconds + 301, signature: signedDecoded }],
    ["301 s early", { now: seconds - 301 }],
    ["with a body that has one space more", { body: `${body} ` }],
    ["with another id", { id: "6f1c2a52-0d6e-4d5a-9f55-2f6f1f0c9a12" }],
    ["with another time", { timestamp: `${seconds + 1}` }],
    ["without an id", { id: undefined }],
    ["with an id of 129 characters", { id: "a".repeat(129) }],
    ["with a line end in its id", { id: `${id}\n` }],
    ["without a time", { timestamp: undefined }],
    ["with a time that is not a number", { timestamp: "now" }],
    ["without a signature", { signature: undefined }],
    ["with an empty signature", { signature: "v1," }],
    ["with a signature of another version", { signature: signedWhole.replace("v1,", "v2,") }],
    ["with a long header of signatures", { signature: `${"v1,AA== ".repeat(200)}${signedWhole}` }],
    ["with another secret", { keys: signingKeys([Redacted.make("whsec_other")]) }],
    ["where no secret is known", { keys: [] }]
  ] satisfies ReadonlyArray<[string, Delivery]>)("%s", ([, delivery]) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(judged(delivery)))._tag, "DeliveryInvalid")
    })
  )
})

describe("R37: a signed delivery names the object that is to be read", () => {
  const data = (fields: object) => ({ timestamp: "2026-11-22T00:00:00Z", data: fields })
  it.effect.each([
    ["order.refunded", { id: orderId }, { kind: "order", id: orderId }],
    ["refund.created", { id, order_id: orderId }, { kind: "order", id: orderId }],
    ["subscription.updated", { id }, { kind: "subscription", id }],
    ["customer.deleted", { id }, { kind: "customer", id }],
    ["checkout.updated", { id }, { kind: "none" }],
    ["benefit_grant.cycled", { id }, { kind: "none" }],
    ["an.event.of.tomorrow", {}, { kind: "none" }],
    ["order.paid", { id: "../../v1/customers" }, { kind: "none" }],
    ["order.paid", { id: 7 }, { kind: "none" }]
  ] as const)("%s %j", ([type, fields, object]) =>
    Effect.gen(function* () {
      const { kind, ...nudge } = yield* judged(signed(JSON.stringify({ type, ...data(fields) })))
      assert.strictEqual(kind, type)
      assert.deepStrictEqual(nudge.object, object)
    })
  )

  it.effect.each(["", "[]", "{", "\u0000", '{"type":"ORDER","data":{}}', `{"type":"${"a".repeat(65)}","data":{}}`])(
    "and none where it cannot be read: %j",
    (text) =>
      Effect.gen(function* () {
        const nudge = yield* judged(signed(text))
        assert.deepStrictEqual(nudge, { deliveryId: id, kind: "unreadable", object: { kind: "none" } })
      })
  )
})
