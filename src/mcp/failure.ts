import { Effect, Schema } from "effect"
import type { InternalError } from "../domain/errors.ts"
import { toMoment } from "../domain/fields.ts"
import * as errors from "../http/errors.ts"
import type { ToolFailure } from "./Tool.ts"

/** What a caller can do about a failure: a model that is told only what went wrong tries the same again. */
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
 * A failure as a tool's result: in words, with what to do next, and the API's own envelope for programs. That is no
 * structured content, because clients hold it to the tool's output schema whether or not the call failed.
 */
export const toFailed = Effect.fnUntraced(function* (error: ToolFailure | InternalError) {
  const envelope = yield* Effect.orDie(encode(error))
  const text = `${error._tag}: ${error.message}\n${nextStep(error)}\nRequest id: ${envelope.request_id}`
  return { content: [{ type: "text" as const, text }], isError: true, _meta: { "quarry/error": envelope } }
})
