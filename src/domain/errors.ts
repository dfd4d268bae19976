import { Schema } from "effect"
import { type Allowance, remaining } from "./Account.ts"
import { Plan } from "./Plan.ts"

/**
 * The API's errors as values. Each `_tag` is the code clients see; status and envelope are given to them in one place,
 * `http/errors.ts`. Messages are safe to show to an end user.
 */

export const Issue = Schema.Struct({
  field: Schema.String.annotate({ description: "Dotted path of the failed field; empty for the whole input" }),
  message: Schema.String
}).annotate({ identifier: "Issue" })
export type Issue = typeof Issue.Type

/**
 * Makes an error without the trace of where that was, which takes seven times as long as the rest of it. Floods of
 * requests fail with such errors, and nobody reads where.
 */
const untraced = <E>(make: () => E): E => {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return make()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Validation failed. Every failed field is listed (R6). */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("invalid_request", {
  message: Schema.String,
  issues: Schema.Array(Issue)
}) {
  /** The message names the fields, so that a log line or a person without the list can act on it. */
  static fromIssues(issues: ReadonlyArray<Issue>): InvalidRequest {
    const fields = issues.map((issue) => (issue.field === "" ? issue.message : `${issue.field} ${issue.message}`))
    const message = `The request is not valid: ${fields.join("; ")}`
    return untraced(() => new InvalidRequest({ message, issues }))
  }

  /** The input as a whole is unusable: malformed JSON, wrong content type, too large (R3). */
  static whole(message: string): InvalidRequest {
    return InvalidRequest.fromIssues([{ field: "", message }])
  }
}

/** `geo` is not a supported country; `details` lists those that are (R8). */
export class UnsupportedGeo extends Schema.TaggedError<UnsupportedGeo>()("unsupported_geo", {
  message: Schema.String,
  details: Schema.Array(Schema.String)
}) {}

/** The target cannot serve `page`, `num` or `safe` as sent. */
export class UnsupportedParameter extends Schema.TaggedError<UnsupportedParameter>()("unsupported_parameter", {
  message: Schema.String
}) {}

/** No accepted credential. The message never says which part of a credential was wrong. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("unauthorized", {
  message: Schema.String
}) {}

/** Period quota and pack balance do not cover the request. The figures are those of the moment of the failure. */
export class QuotaExceeded extends Schema.TaggedError<QuotaExceeded>()("quota_exceeded", {
  message: Schema.String,
  plan: Plan,
  /** Requests the quota allows in the period. */
  quota: Schema.Int,
  /** Credits spent inside that quota. */
  creditsUsed: Schema.Int,
  /** The rest of the period's quota. */
  remaining: Schema.Int,
  /** Pack credits left. */
  balance: Schema.Int,
  /** Unix milliseconds at which the quota resets; null on the trial. */
  resetsAt: Schema.NullOr(Schema.Number)
}) {
  static of(allowance: Allowance, credits: number): QuotaExceeded {
    const left = remaining(allowance)
    const needs = credits === 1 ? "1 credit" : `${credits} credits`
    return untraced(
      () =>
        new QuotaExceeded({
          message: `This needs ${needs}; ${left} of the quota and ${allowance.balance} pack credits are left.`,
          plan: allowance.plan,
          quota: allowance.quota ?? Number.MAX_SAFE_INTEGER,
          creditsUsed: allowance.used,
          remaining: left,
          balance: allowance.balance,
          resetsAt: allowance.resetsAt ?? null
        })
    )
  }
}

export class NotFound extends Schema.TaggedError<NotFound>()("not_found", {
  message: Schema.String
}) {}

/** The per-minute limit is spent. */
export class RateLimited extends Schema.TaggedError<RateLimited>()("rate_limited", {
  message: Schema.String,
  /** Whole seconds until a request can be admitted again, at least 1. Absent where it was read from the envelope. */
  retryAfterSeconds: Schema.optionalKey(Schema.Int)
}) {
  static of(limit: number, retryAfterSeconds: number): RateLimited {
    const message = `The limit of ${limit} requests per minute is spent. Try again in ${retryAfterSeconds} s.`
    return untraced(() => new RateLimited({ message, retryAfterSeconds }))
  }
}

/** A fault on our side. What it was goes to the log, never to the client. */
export class InternalError extends Schema.TaggedError<InternalError>()("internal_error", {
  message: Schema.String
}) {}

/** The search provider could not be reached or returned an unusable payload. */
export class UpstreamError extends Schema.TaggedError<UpstreamError>()("upstream_error", {
  message: Schema.String
}) {}

/** The search provider did not answer within its time budget. */
export class UpstreamTimeout extends Schema.TaggedError<UpstreamTimeout>()("upstream_timeout", {
  message: Schema.String
}) {}

export class NoSubscription extends Schema.TaggedError<NoSubscription>()("no_subscription", {
  message: Schema.String
}) {}

export class PlanUnchanged extends Schema.TaggedError<PlanUnchanged>()("plan_unchanged", {
  message: Schema.String
}) {}

export class BillingUnavailable extends Schema.TaggedError<BillingUnavailable>()("billing_unavailable", {
  message: Schema.String
}) {}

export const unauthorized = new Unauthorized({ message: "No accepted credential was sent with this request." })

export const internalError = new InternalError({
  message: "Something went wrong on our side. Nothing was charged; quote the request id when you report it."
})
