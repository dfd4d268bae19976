import { createHmac, timingSafeEqual } from "node:crypto"
import { Effect, Option, Redacted, Schema } from "effect"
import { DeliveryInvalid, type Nudge, type SigningSecrets } from "../../services/billing/PaymentProvider.ts"

/** As in Standard Webhooks. */
const maxAgeSeconds = 300

const maxIdCharacters = 128
const maxSignatureCharacters = 1_024
const maxSignatures = 8
const maxKindCharacters = 64

const secretPrefix = "whsec_"
const signaturePrefix = "v1,"

/** Polar signs with the secret's text, Standard Webhooks with the bytes encoded after `whsec_`. Both are accepted. */
export const signingKeys = (secrets: SigningSecrets): ReadonlyArray<Buffer> =>
  secrets.flatMap((secret) => {
    const text = Redacted.value(secret)
    const decoded = text.startsWith(secretPrefix) ? Buffer.from(text.slice(secretPrefix.length), "base64") : undefined
    const whole = Buffer.from(text, "utf8")
    return decoded === undefined || decoded.length === 0 ? [whole] : [whole, decoded]
  })

const signaturesOf = (header: string): ReadonlyArray<Buffer> =>
  header
    .split(" ", maxSignatures)
    .filter((part) => part.startsWith(signaturePrefix))
    .map((part) => Buffer.from(part.slice(signaturePrefix.length), "base64"))
    .filter(({ length }) => length === 32)

/** Compares every key with every signature, so that the time does not reveal which one matches. */
const isSigned = (
  keys: ReadonlyArray<Buffer>,
  signatures: ReadonlyArray<Buffer>,
  id: string,
  timestamp: string,
  body: Uint8Array
): boolean => {
  let isFound = false
  for (const key of keys) {
    const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest()
    for (const signature of signatures) isFound = timingSafeEqual(expected, signature) || isFound
  }
  return isFound
}

const Id = Schema.String.check(Schema.isUUID())
const Delivery = Schema.fromJsonString(
  Schema.Struct({
    type: Schema.String.check(Schema.isPattern(/^[a-z_.]+$/), Schema.isMaxLength(maxKindCharacters)),
    data: Schema.Struct({ id: Schema.optionalKey(Schema.Unknown), order_id: Schema.optionalKey(Schema.Unknown) })
  })
)
const decodeDelivery = Schema.decodeUnknownOption(Delivery)
const isId = Schema.is(Id)

const none: Nudge["object"] = { kind: "none" }

const objectOf = ({ data, type }: typeof Delivery.Type): Nudge["object"] => {
  const named = (kind: "subscription" | "order" | "customer", id: unknown): Nudge["object"] =>
    isId(id) ? { kind, id } : none
  if (type.startsWith("subscription.")) return named("subscription", data.id)
  if (type.startsWith("order.")) return named("order", data.id)
  if (type.startsWith("refund.")) return named("order", data.order_id)
  return type === "customer.deleted" || type === "customer.state_changed" ? named("customer", data.id) : none
}

/** Accepts an unreadable delivery, because Polar would retry it and disable the endpoint after ten failures. */
const nudgeOf = (deliveryId: string, body: Uint8Array): Nudge =>
  Option.match(decodeDelivery(Buffer.from(body).toString("utf8")), {
    onNone: (): Nudge => ({ deliveryId, kind: "unreadable", object: none }),
    onSome: (delivery): Nudge => ({ deliveryId, kind: delivery.type, object: objectOf(delivery) })
  })

const invalid = (reason: string) => Effect.fail(new DeliveryInvalid({ reason }))

export const verify = (
  keys: ReadonlyArray<Buffer>,
  headers: Readonly<Record<string, string | undefined>>,
  body: Uint8Array,
  nowMillis: number
): Effect.Effect<Nudge, DeliveryInvalid> => {
  const id = headers["webhook-id"] ?? ""
  const timestamp = headers["webhook-timestamp"] ?? ""
  const signature = headers["webhook-signature"] ?? ""
  if (id.length > maxIdCharacters || !/^[\x21-\x7e]+$/.test(id)) return invalid("webhook-id is missing or too long")
  if (!/^\d{1,12}$/.test(timestamp)) return invalid("webhook-timestamp is not a time in Unix seconds")
  if (Math.abs(nowMillis / 1000 - Number(timestamp)) > maxAgeSeconds)
    return invalid("webhook-timestamp is too far from the current time")
  if (signature.length > maxSignatureCharacters) return invalid("webhook-signature is too long")
  const signatures = signaturesOf(signature)
  if (signatures.length === 0) return invalid("webhook-signature has no signature of version 1")
  return isSigned(keys, signatures, id, timestamp, body)
    ? Effect.succeed(nudgeOf(id, body))
    : invalid("the signature is not the provider's")
}
