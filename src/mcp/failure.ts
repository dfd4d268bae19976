import { Clock, Effect, Schema } from "effect"
import { budgetPeriodAt } from "../domain/credits/Budget.ts"
import type { InternalError, QuotaExceeded } from "../domain/errors.ts"
import { toMoment } from "../domain/requests/fields.ts"
import * as errors from "../http/errors.ts"
import { Deployment } from "../services/operations/Deployment.ts"
import type { ToolFailure } from "./Tool.ts"

const before = (what: string, resetsAt: number, nowMs: number): string => {
  const seconds = Math.max(Math.ceil((resetsAt - nowMs) / 1000), 1)
  return `Do not call again before the ${what} resets at ${toMoment(resetsAt)}, in ${seconds} seconds.`
}

const budgetStep = (
  { holder, period }: NonNullable<QuotaExceeded["budget"]>,
  origin: string,
  nowMs: number
): string => {
  const { end } = budgetPeriodAt(period, nowMs)
  const wait = end === undefined ? "Do not call again: the budget does not reset." : before("budget", end, nowMs)
  const more =
    holder === "app"
      ? "The account's owner allows more by connecting the app again."
      : `The account's owner allows more at ${origin}/dashboard/${holder === "member" ? "members" : "keys"}.`
  return `${wait} ${more}`
}

const quotaStep = ({ budget, resetsAt }: QuotaExceeded, origin: string, nowMs: number): string => {
  if (budget !== undefined) return budgetStep(budget, origin, nowMs)
  const more = `The account's owner gets more credits at ${origin}/dashboard/billing.`
  if (resetsAt === null) return `Do not call again: the trial's quota does not reset. ${more}`
  return `${before("quota", resetsAt, nowMs)} ${more}`
}

/** Ends an error's text with advice. Without it, models repeat failed calls. */
const nextStep = (error: ToolFailure | InternalError, origin: string, nowMs: number): string => {
  switch (error._tag) {
    case "invalid_request":
      return "Correct what the message names and call again. Nothing was charged."
    case "unsupported_geo":
      return "Call again with a supported two-letter country code, or without geo. Nothing was charged."
    case "unsupported_parameter":
      return "Call again within what the target accepts, or with another target. Nothing was charged."
    case "quota_exceeded":
      return quotaStep(error, origin, nowMs)
    case "page_unreadable":
      return error.reason === "timed_out" || error.reason === "unreachable"
        ? "Try once more, or read another page. Nothing was charged."
        : "Do not call again with this address. Read another page. Nothing was charged."
    case "upstream_error":
      if (error.unsent === true) return "Nothing was charged. Wait 60 seconds, or call with another target."
      return "One credit was charged. Try once more, or with another target."
    case "upstream_timeout":
      if (error.unsent === true) return "Nothing was charged. Wait 60 seconds, or call with another target."
      return "One credit was charged. Try once more, with a simpler query or another target."
    case "rate_limited":
      return `Wait ${error.retryAfterSeconds ?? 60} seconds and call again. Nothing was charged.`
    case "unauthorized":
      return "Do not call again: the account has been deleted."
    case "internal_error":
      return "Wait 60 seconds and call again."
  }
}

const EnvelopeSchema = Schema.Union([
  errors.InvalidRequest,
  errors.UnsupportedGeo,
  errors.UnsupportedParameter,
  errors.QuotaExceeded,
  errors.PageUnreadable,
  errors.RateLimited,
  errors.Unauthorized,
  errors.UpstreamError,
  errors.UpstreamTimeout,
  errors.InternalError
])

export type Envelope = typeof EnvelopeSchema.Encoded

const encode = Schema.encodeEffect(EnvelopeSchema)

/** The envelope is in `_meta`: clients validate structured content against the output schema even for errors. */
export const toErrorAnswer = Effect.fnUntraced(function* (error: ToolFailure | InternalError) {
  const envelope = yield* Effect.orDie(encode(error))
  const { origin } = yield* Deployment
  const step = nextStep(error, origin, yield* Clock.currentTimeMillis)
  return { envelope, text: `${error._tag}: ${error.message}\n${step}\nRequest id: ${envelope.request_id}` }
})
