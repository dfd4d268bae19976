import { Layer } from "effect"
import { Headers, HttpClient, HttpMiddleware } from "effect/http"

/**
 * Headers whose values appear in no log and no span: those that open something, and those that tell where a caller of
 * the demo is (R24). The list replaces Effect's own.
 */
const redacted = Layer.succeed(Headers.CurrentRedactedNames, [
  "authorization",
  "cookie",
  "set-cookie",
  "x-api-key",
  "x-marketplace-proxy-secret",
  "x-forwarded-for"
])

/**
 * Effect's own spans of HTTP show whole addresses, in which people's searches and upstreams' keys stand. The edge and
 * the attempts at providers tell what may be told.
 */
const withoutAddresses = Layer.mergeAll(
  Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true),
  Layer.succeed(HttpClient.TracerDisabledWhen, () => true)
)

export const layer: Layer.Layer<never> = Layer.merge(redacted, withoutAddresses)
