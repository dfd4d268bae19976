import { Schema } from "effect"
import { type Allowance, remaining } from "./credits/Allowance.ts"
import { type Budget, budgetHolders, budgetPeriods, describeBudget, holderOf } from "./credits/Budget.ts"
import { Plan } from "./credits/Plan.ts"
import { abbreviate, waitText } from "./text.ts"
import { UnreadableReason, unreadableMessages } from "./UnreadableReason.ts"
import { untraced } from "./untraced.ts"

// Each `_tag` is the error code that clients see; `http/errors.ts` adds the status. Messages are safe to show to users.

export const Issue = Schema.Struct({
  field: Schema.String.annotate({
    description: "Dotted path of the failed field; empty if the input as a whole is invalid"
  }),
  message: Schema.String
}).annotate({ identifier: "Issue" })
export type Issue = typeof Issue.Type

/** Limits of the `issues` list (R70). Characters are counted over field and message together. */
export const maxIssues = 20
export const maxIssueCharacters = 300
const maxFieldCharacters = 100

const boundIssue = (issue: Issue): Issue => {
  const field = abbreviate(issue.field, maxFieldCharacters)
  return { field, message: abbreviate(issue.message, maxIssueCharacters - field.length) }
}

const boundIssues = (issues: ReadonlyArray<Issue>): ReadonlyArray<Issue> => {
  if (issues.length <= maxIssues) return issues.map(boundIssue)
  const listed = issues.slice(0, maxIssues - 1).map(boundIssue)
  return [...listed, { field: "", message: `${issues.length - listed.length} more fields are invalid` }]
}

/** `issues` lists every failed field, up to `maxIssues` (R6, R70). */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("invalid_request", {
  message: Schema.String,
  issues: Schema.Array(Issue)
}) {
  /** Also names the failed fields in the message, so that a log line is useful without the list. */
  static fromIssues(all: ReadonlyArray<Issue>): InvalidRequest {
    const issues = boundIssues(all)
    const fields = issues.map((issue) => (issue.field === "" ? issue.message : `${issue.field} ${issue.message}`))
    const message = `The request is invalid: ${fields.join("; ")}`
    return untraced(() => new InvalidRequest({ message, issues }))
  }

  /** For input that is unusable as a whole: malformed JSON, a wrong content type, or a body that is too large (R3). */
  static whole(message: string): InvalidRequest {
    return InvalidRequest.fromIssues([{ field: "", message }])
  }
}

export class UnsupportedGeo extends Schema.TaggedError<UnsupportedGeo>()("unsupported_geo", {
  message: Schema.String,
  details: Schema.Array(Schema.String)
}) {}

export class UnsupportedParameter extends Schema.TaggedError<UnsupportedParameter>()("unsupported_parameter", {
  message: Schema.String
}) {}

/** The message never reveals whether a key exists (R71). */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("unauthorized", {
  message: Schema.String
}) {}

export class Forbidden extends Schema.TaggedError<Forbidden>()("forbidden", {
  message: Schema.String
}) {}

/** The account's credits, or a budget (R50), do not cover the request. Fields describe the account. */
export class QuotaExceeded extends Schema.TaggedError<QuotaExceeded>()("quota_exceeded", {
  message: Schema.String,
  plan: Plan,
  quota: Schema.Int,
  creditsUsed: Schema.Int,
  remaining: Schema.Int,
  balance: Schema.Int,
  resetsAt: Schema.NullOr(Schema.Number),
  /** Set if a budget is spent, not the account's credits. Not part of the envelope. */
  budget: Schema.optionalKey(
    Schema.Struct({ period: Schema.Literals(budgetPeriods), holder: Schema.Literals(budgetHolders) })
  )
}) {
  static of(allowance: Allowance, credits: number): QuotaExceeded {
    const left = remaining(allowance)
    return QuotaExceeded.because(
      `${needs(credits)}, but only ${left} of the quota and ${allowance.balance} pack credits are left.`,
      allowance
    )
  }

  static ofBudget(
    allowance: Allowance,
    credits: number,
    { budgetId, ...budget }: Budget & { readonly budgetId?: string | undefined },
    spent: number
  ): QuotaExceeded {
    const left = Math.max(budget.credits - spent, 0)
    const holder = holderOf(budgetId)
    return QuotaExceeded.because(
      `${needs(credits)}, but this ${holder}'s budget (${describeBudget(budget)}) has ${left} left.`,
      allowance,
      { period: budget.period, holder }
    )
  }

  private static because(message: string, allowance: Allowance, budget?: QuotaExceeded["budget"]): QuotaExceeded {
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
          resetsAt: allowance.resetsAt ?? null,
          ...(budget === undefined ? {} : { budget })
        })
    )
  }
}

const needs = (credits: number): string => `This needs ${credits === 1 ? "1 credit" : `${credits} credits`}`

export class NotFound extends Schema.TaggedError<NotFound>()("not_found", {
  message: Schema.String
}) {}

export class RateLimited extends Schema.TaggedError<RateLimited>()("rate_limited", {
  message: Schema.String,
  /** Whole seconds until the next request can succeed, at least 1. Absent if read from a response body. */
  retryAfterSeconds: Schema.optionalKey(Schema.Int)
}) {
  static of(limit: number, retryAfterSeconds: number): RateLimited {
    const message = `The limit of ${limit} requests per minute has been reached. Try again in ${waitText(retryAfterSeconds)}.`
    return untraced(() => new RateLimited({ message, retryAfterSeconds }))
  }
}

/** The cause is logged and never sent to the client. */
export class InternalError extends Schema.TaggedError<InternalError>()("internal_error", {
  message: Schema.String
}) {}

/** Set if no provider was asked, so that nothing is charged or logged (R76). Not part of the envelope. */
const unsent = Schema.optionalKey(Schema.Literal(true))

export class UpstreamError extends Schema.TaggedError<UpstreamError>()("upstream_error", {
  message: Schema.String,
  unsent
}) {}

export class UpstreamTimeout extends Schema.TaggedError<UpstreamTimeout>()("upstream_timeout", {
  message: Schema.String,
  unsent
}) {}

/** Nothing is charged (R59). */
export class PageUnreadable extends Schema.TaggedError<PageUnreadable>()("page_unreadable", {
  message: Schema.String,
  reason: UnreadableReason,
  httpStatus: Schema.optionalKey(Schema.Int)
}) {
  static because(reason: UnreadableReason, httpStatus?: number): PageUnreadable {
    const message = unreadableMessages[reason]
    return untraced(() => new PageUnreadable({ message, reason, ...(httpStatus === undefined ? {} : { httpStatus }) }))
  }
}

export class IdempotencyInProgress extends Schema.TaggedError<IdempotencyInProgress>()("idempotency_in_progress", {
  message: Schema.String,
  retryAfterSeconds: Schema.optionalKey(Schema.Int)
}) {}

/** The session's person must prove who they are again (R66). */
export class FreshSignInRequired extends Schema.TaggedError<FreshSignInRequired>()("fresh_sign_in_required", {
  message: Schema.String
}) {}

/** An account without an owner could never be managed again (R67). */
export class LastOwner extends Schema.TaggedError<LastOwner>()("last_owner", {
  message: Schema.String
}) {}

export class NoSubscription extends Schema.TaggedError<NoSubscription>()("no_subscription", {
  message: Schema.String
}) {}

export class PlanUnchanged extends Schema.TaggedError<PlanUnchanged>()("plan_unchanged", {
  message: Schema.String
}) {}

export class BillingUnavailable extends Schema.TaggedError<BillingUnavailable>()("billing_unavailable", {
  message: Schema.String,
  /** Whole seconds after which a retry may succeed; absent if only the operator can fix the cause. */
  retryAfterSeconds: Schema.optionalKey(Schema.Int)
}) {}

/** The payment provider declined the payment. Nothing changed (R42). */
export class PaymentFailed extends Schema.TaggedError<PaymentFailed>()("payment_failed", {
  message: Schema.String
}) {}

export class BillingBusy extends Schema.TaggedError<BillingBusy>()("billing_busy", {
  message: Schema.String,
  retryAfterSeconds: Schema.optionalKey(Schema.Int)
}) {}

export const unauthorized = new Unauthorized({ message: "No accepted credential was sent with this request." })

export const freshSignInRequired = new FreshSignInRequired({
  message: "You signed in more than ten minutes ago. Sign in again, then repeat this."
})

export const secondFactorRequired = new Forbidden({
  message: "This server requires a second factor. Set up an authenticator app or a passkey first."
})

export const idempotencyInProgress = new IdempotencyInProgress({
  message: "The first request with this Idempotency-Key is still running. Try again to get its answer.",
  retryAfterSeconds: 1
})

export const internalError = new InternalError({
  message: "Something went wrong on our side. Nothing was charged. Include the request ID when you report it."
})
