import { readFileSync } from "node:fs"
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js"
import formats from "ajv-formats"

/**
 * Polar's own OpenAPI document, reduced to what Quarry uses. It validates the fake's responses and deliveries, and the
 * requests to it.
 */

type Json = { readonly [name: string]: Json } | ReadonlyArray<Json> | string | number | boolean | null

// The cast is safe because the file is an OpenAPI 3.1 document.
const document = JSON.parse(readFileSync(new URL("./document.json", import.meta.url), "utf8")) as {
  readonly paths: Record<string, Record<string, { readonly responses: Record<string, { readonly content?: Json }> }>>
  readonly components: Json
}

const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: true })
formats.default(ajv)
ajv.addFormat("uuid4", /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
// Polar accepts a page address with a placeholder in braces, which RFC 3986 does not allow.
ajv.addFormat("uri", (text: string) => URL.canParse(text))
ajv.addFormat("ipvanyaddress", /^[0-9a-f.:]{2,45}$/i)
ajv.addSchema(document, "polar")

const compiled = new Map<string, ValidateFunction>()

const escaped = (part: string): string => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"))

/** Describes why a value does not match a schema of the document. Undefined if it does. */
const faultBy = (pointer: ReadonlyArray<string>, value: unknown): string | undefined => {
  const ref = `polar#/${pointer.map(escaped).join("/")}`
  const validate = compiled.get(ref) ?? ajv.compile({ $ref: ref })
  compiled.set(ref, validate)
  return validate(value) ? undefined : `${ajv.errorsText(validate.errors)} (${ref})`
}

const json = ["content", "application/json", "schema"]

/** Validates a response to an operation. Undocumented operations are not checked. */
export const answerFault = (method: string, path: string, status: number, body: unknown): string | undefined => {
  const operation = document.paths[path]?.[method.toLowerCase()]
  if (operation === undefined || status === 401 || status === 403) return undefined
  const response = operation.responses[`${status}`]
  if (response === undefined) return `${method} ${path} has no answer ${status}`
  if (response.content === undefined) return undefined
  return faultBy(["paths", path, method.toLowerCase(), "responses", `${status}`, ...json], body)
}

export const requestFault = (method: string, path: string, body: unknown): string | undefined => {
  const operation = document.paths[path]?.[method.toLowerCase()]
  if (operation === undefined || !("requestBody" in operation)) return undefined
  return faultBy(["paths", path, method.toLowerCase(), "requestBody", ...json], body)
}

const payloads: { readonly [type: string]: string } = {
  "order.paid": "WebhookOrderPaidPayload",
  "order.updated": "WebhookOrderUpdatedPayload",
  "order.refunded": "WebhookOrderRefundedPayload",
  "refund.created": "WebhookRefundCreatedPayload",
  "refund.updated": "WebhookRefundUpdatedPayload",
  "subscription.created": "WebhookSubscriptionCreatedPayload",
  "subscription.updated": "WebhookSubscriptionUpdatedPayload",
  "subscription.canceled": "WebhookSubscriptionCanceledPayload",
  "subscription.revoked": "WebhookSubscriptionRevokedPayload",
  "customer.deleted": "WebhookCustomerDeletedPayload"
}

export const payloadFault = (type: string, payload: unknown): string | undefined => {
  const schema = payloads[type]
  return schema === undefined ? undefined : faultBy(["components", "schemas", schema], payload)
}
