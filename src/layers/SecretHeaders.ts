import { Layer } from "effect"
import { Headers } from "effect/http"

/**
 * Headers whose values appear in no log and no span: those that open something, and those that tell where a caller of
 * the demo is (R24). The list replaces Effect's own.
 */
export const layer: Layer.Layer<never> = Layer.succeed(Headers.CurrentRedactedNames, [
  "authorization",
  "cookie",
  "set-cookie",
  "x-api-key",
  "x-marketplace-proxy-secret",
  "x-forwarded-for"
])
