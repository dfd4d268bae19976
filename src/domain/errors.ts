import { Schema } from "effect"
import { type Allowance, remaining } from "./Account.ts"
import { type Budget, describeBudget } from "./Budget.ts"
import { Plan } from "./Plan.ts"
import { abbreviate } from "./text.ts"

/**
 * The API's errors as values. Each `_tag` is the code clients see; status and envelope are given to them in one place,
 * `http/errors.ts`. Messages are safe to show to an end user.
 */

export const Issue = Schema.Struct({
  field: Schema.String.annotate({ description: "Dotted path of the failed field; empty for the whole input" }),
  message: Schema.String
}).annotate({ identifier: "Issue" })
export type Issue = typeof Issue.Type

/** Limits of a list of issues (R70). The characters are those of field and message together. */
export const maxIssues = 20
export const maxIssueCharacters = 300
const maxFieldCharacters = 100

const boundIssue = (issue: Issue): Issue => {
  const field = abbreviate(issue.field, maxFieldCharacters)
  return { field, message: abbreviate(issue.message, maxIssueCharacters - field.length) }
}

/** Keeps a list of issues within its limits. The last entry of a longer list says how many are left out. */
const boundIssues = (issues: ReadonlyArray<Issue>): ReadonlyArray<Issue> => {
  if (issues.length <= maxIssues) return issues.map(boundIssue)
  const listed = issues.slice(0, maxIssues - 1).map(boundIssue)
  return [...listed, { field: "", message: `${issues.length - listed.length} more fields are not valid` }]
}

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

/** Validation failed. The failed fields are listed (R6), up to `maxIssues` entries (R70). */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("invalid_request", {
  message: Schema.String,
  issues: Schema.Array(Issue)
}) {
  /** The message names the fields, so that a log line or a person without the list can act on it. */
  static fromIssues(all: ReadonlyArray<Issue>): InvalidRequest {
    const issues = boundIssues(all)
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

/** The caller may not do this, whatever credential they have. The message says who may. */
export class Forbidden extends Schema.TaggedError<Forbidden>()("forbidden", {
  message: Schema.String
}) {}

/**
 * Period quota and pack balance do not cover the request, or the budget of its key does not (R50). The figures are those
 * of the account at the moment of the failure.
 */
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
    return QuotaExceeded.because(
      `${needs(credits)}; ${left} of the quota and ${allowance.balance} pack credits are left.`,
      allowance
    )
  }

  /** The account could pay, and the key's budget has too little left. */
  static ofBudget(allowance: Allowance, credits: number, budget: Budget, spent: number): QuotaExceeded {
    const left = Math.max(budget.credits - spent, 0)
    return QuotaExceeded.because(
      `${needs(credits)}; the budget of this API key, ${describeBudget(budget)}, has ${left} left.`,
      allowance
    )
  }

  private static because(message: string, allowance: Allowance): QuotaExceeded {
    const left = remaining(allowance)
    return untraced(
      () =>
        new QuotaExceeded({
          message,
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

const needs = (credits: number): string => `This needs ${credits === 1 ? "1 credit" : `${credits} credits`}`

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

/** The first request with the same idempotency key is still running (R44). */
export class IdempotencyInProgress extends Schema.TaggedError<IdempotencyInProgress>()("idempotency_in_progress", {
  message: Schema.String,
  /** Whole seconds, at least 1. */
  retryAfterSeconds: Schema.optionalKey(Schema.Int)
}) {}

export class NoSubscription extends Schema.TaggedError<NoSubscription>()("no_subscription", {
  message: Schema.String
}) {}

export class PlanUnchanged extends Schema.TaggedError<PlanUnchanged>()("plan_unchanged", {
  message: Schema.String
}) {}

/** Nothing can be bought at the moment. What was bought is not affected. */
export class BillingUnavailable extends Schema.TaggedError<BillingUnavailable>()("billing_unavailable", {
  message: Schema.String,
  /** Whole seconds after which another attempt may succeed; absent where only the operator can change it. */
  retryAfterSeconds: Schema.optionalKey(Schema.Int)
}) {}

/** The payment provider declined the payment, and nothing has changed (R42). */
export class PaymentFailed extends Schema.TaggedError<PaymentFailed>()("payment_failed", {
  message: Schema.String
}) {}

/** Another change of the subscription is running (R42). */
export class BillingBusy extends Schema.TaggedError<BillingBusy>()("billing_busy", {
  message: Schema.String,
  /** Whole seconds, at least 1. */
  retryAfterSeconds: Schema.optionalKey(Schema.Int)
}) {}

export const unauthorized = new Unauthorized({ message: "No accepted credential was sent with this request." })

export const idempotencyInProgress = new IdempotencyInProgress({
  message: "The first request with this Idempotency-Key is still running. Try again to get its answer.",
  retryAfterSeconds: 1
})

export const internalError = new InternalError({
  message: "Something went wrong on our side. Nothing was charged; quote the request id when you report it."
})
