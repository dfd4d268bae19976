import { Layer } from "effect"
import { Headers, HttpClient, HttpMiddleware } from "effect/http"

/** Credentials and client addresses (R24), which never appear in logs or spans. Replaces Effect's list. */
const redacted = Layer.succeed(Headers.CurrentRedactedNames, [
  "authorization",
  "cookie",
  "set-cookie",
  "x-api-key",
  "x-subscription-token",
  "x-marketplace-proxy-secret",
  "x-forwarded-for"
])

/** Turns off Effect's HTTP spans: their URLs contain search texts and provider keys. Quarry has its own spans. */
const withoutAddresses = Layer.mergeAll(
  Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true),
  Layer.succeed(HttpClient.TracerDisabledWhen, () => true)
)

export const layer: Layer.Layer<never> = Layer.merge(redacted, withoutAddresses)
