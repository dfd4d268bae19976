import { Layer } from "effect"
import { Headers, HttpClient, HttpMiddleware } from "effect/http"

/**
 * Headers whose values appear in no log and no span: those with credentials, and those with the address of a caller of
 * the demo (R24). The list replaces Effect's own.
 */
const redacted = Layer.succeed(Headers.CurrentRedactedNames, [
  "authorization",
  "cookie",
  "set-cookie",
  "x-api-key",
  "x-subscription-token",
  "x-marketplace-proxy-secret",
  "x-forwarded-for"
])

/**
 * Turns off Effect's own spans of HTTP. They show whole addresses, which hold people's searches and upstreams' keys.
 * The edge and the attempts at providers have spans of their own.
 */
const withoutAddresses = Layer.mergeAll(
  Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true),
  Layer.succeed(HttpClient.TracerDisabledWhen, () => true)
)

export const layer: Layer.Layer<never> = Layer.merge(redacted, withoutAddresses)
