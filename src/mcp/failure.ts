import { Effect, Schema } from "effect"
import type { InternalError } from "../domain/errors.ts"
import { toMoment } from "../domain/fields.ts"
import * as errors from "../http/errors.ts"
import type { ToolFailure } from "./Tool.ts"

/** The advice at the end of an error's text. Without it, models repeat the call that failed. */
const nextStep = (error: ToolFailure | InternalError): string => {
  switch (error._tag) {
    case "invalid_request":
      return "Correct what the message names and call again. Nothing was charged."
    case "unsupported_geo":
      return "Call again with a supported two-letter country code, or without geo. Nothing was charged."
    case "unsupported_parameter":
      return "Call again within what the target accepts, or with another target. Nothing was charged."
    case "quota_exceeded":
      return error.resetsAt === null
        ? "Do not call again: the trial's quota does not reset. Ask the account's owner for a plan or credits."
        : `Do not call again before the quota resets at ${toMoment(error.resetsAt)}, or ask the account's owner for more credits.`
    case "upstream_error":
      return "One credit was charged. Try once more, or with another target."
    case "upstream_timeout":
      return "One credit was charged. Try once more, with a simpler query or another target."
    case "internal_error":
      return "Try again in a minute."
  }
}

const Envelope = Schema.Union([
  errors.InvalidRequest,
  errors.UnsupportedGeo,
  errors.UnsupportedParameter,
  errors.QuotaExceeded,
  errors.UpstreamError,
  errors.UpstreamTimeout,
  errors.InternalError
])

const encode = Schema.encodeEffect(Envelope)

/**
 * Encodes an error as a tool's result: text with advice for models, and the API's envelope for programs. The envelope
 * is under `_meta`, because clients validate structured content by the tool's output schema even in an error.
 */
export const toErrorResult = Effect.fnUntraced(function* (error: ToolFailure | InternalError) {
  const envelope = yield* Effect.orDie(encode(error))
  const text = `${error._tag}: ${error.message}\n${nextStep(error)}\nRequest id: ${envelope.request_id}`
  return { content: [{ type: "text" as const, text }], isError: true, _meta: { "quarry/error": envelope } }
})
