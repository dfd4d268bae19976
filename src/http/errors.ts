import { Effect, Predicate, Record, Schema, SchemaTransformation, String as Text } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiSchema } from "effect/http-api"
import { Plan } from "../domain/credits/Plan.ts"
import * as domain from "../domain/errors.ts"
import { CurrentRequest } from "../domain/requests/CurrentRequest.ts"
import { toMomentOrNull } from "../domain/requests/fields.ts"
import { UnreadableReason } from "../domain/UnreadableReason.ts"
import { addLogFields } from "./requestState.ts"
import { Moment } from "./timestamps.ts"

/** The API's errors with statuses and envelopes. The edge encodes errors that an endpoint does not declare. */

/** Facts that a client reads from the response in addition to the error's fields. Absent in the server. */
export interface ResponseFacts {
  readonly requestId?: string
  /** In seconds, from `Retry-After`. `QuarryClient` sets it; a client made from `Api` alone does not read headers. */
  readonly retryAfterSeconds?: number
}

/** The error as a client decodes it. The cast: all facts are optional, so every error has this type. */
const received = <E extends object>(error: Schema.Codec<E, unknown>): Schema.Codec<E & ResponseFacts> =>
  Schema.toType(error) as Schema.Codec<E & ResponseFacts>

const fromResponse = <E extends object>(
  error: E,
  { request_id: requestId }: { readonly request_id: string }
): E & ResponseFacts => Object.assign(error, { requestId })

/** `code` also names the schema in the document: `not_found` is `NotFound`. */
const envelope = <const Code extends string, const Details extends Schema.Struct.Fields>(
  code: Code,
  description: string,
  details: Details
) =>
  Schema.Struct({
    error: Schema.Literal(code),
    message: Schema.String.annotate({ description: "Human-readable, safe to show to an end user" }),
    request_id: Schema.String.annotate({ description: "Same value as the X-Request-Id response header" }),
    ...details
  }).annotate({ identifier: Text.snakeToPascal(code), description })

const withRequestId = <Fields extends object>(fields: Fields) =>
  Effect.map(CurrentRequest, ({ id }) => ({ ...fields, request_id: id }))

const quotaFields = ({ balance, creditsUsed, plan, quota, remaining, resetsAt }: domain.QuotaExceeded) => ({
  plan,
  quota,
  credits_used: creditsUsed,
  remaining,
  balance,
  resets_at: resetsAt
})

const unreadableFields = ({ httpStatus, reason }: domain.PageUnreadable) => ({
  reason,
  ...(httpStatus === undefined ? {} : { http_status: httpStatus })
})

/** An error without details. A retry time is in the `Retry-After` header, not in the envelope. */
const plain = <E extends { readonly message: string }, const Code extends string>(
  status: number,
  code: Code,
  error: Schema.Codec<E, unknown> & { new (fields: { readonly message: string }): E },
  description: string
) =>
  received(error).pipe(
    Schema.encodeTo(
      envelope(code, description, {}),
      SchemaTransformation.transformEffect({
        decode: (sent) => Effect.succeed(fromResponse(new error({ message: sent.message }), sent)),
        encode: ({ message }) => withRequestId({ error: code, message })
      })
    ),
    HttpApiSchema.status(status)
  )

export const InvalidRequest = received(domain.InvalidRequest).pipe(
  Schema.encodeTo(
    envelope(
      "invalid_request",
      "The request could not be parsed, or some of its fields are invalid. Nothing was charged.",
      {
        issues: Schema.Array(domain.Issue).annotate({
          description: `One entry for each invalid field, at most ${domain.maxIssues}. The last entry may give the number of further failures`
        })
      }
    ),
    SchemaTransformation.transformEffect({
      decode: (sent) => {
        const { issues, message } = sent
        return Effect.succeed(fromResponse(new domain.InvalidRequest({ message, issues }), sent))
      },
      encode: ({ issues, message }) => withRequestId({ error: "invalid_request" as const, message, issues })
    })
  ),
  HttpApiSchema.status(400)
)

export const UnsupportedGeo = received(domain.UnsupportedGeo).pipe(
  Schema.encodeTo(
    envelope("unsupported_geo", "The country is not supported. Nothing was charged.", {
      details: Schema.Array(Schema.String).annotate({ description: "The supported country codes" })
    }),
    SchemaTransformation.transformEffect({
      decode: (sent) => {
        const { details, message } = sent
        return Effect.succeed(fromResponse(new domain.UnsupportedGeo({ message, details }), sent))
      },
      encode: ({ details, message }) => withRequestId({ error: "unsupported_geo" as const, message, details })
    })
  ),
  HttpApiSchema.status(400)
)

export const QuotaExceeded = received(domain.QuotaExceeded).pipe(
  Schema.encodeTo(
    envelope(
      "quota_exceeded",
      "The remaining quota and pack credits do not cover the request. Nothing was run or charged.",
      {
        plan: Plan,
        quota: Schema.Int.annotate({ description: "Requests the quota allows in the period" }),
        credits_used: Schema.Int.annotate({ description: "Credits spent inside that quota" }),
        remaining: Schema.Int.annotate({ description: "Requests left in the period's quota" }),
        balance: Schema.Int.annotate({ description: "Pack credits left" }),
        resets_at: Schema.NullOr(Moment).annotate({
          description: "ISO 8601 time at which the quota resets; null on the trial"
        })
      }
    ),
    SchemaTransformation.transformEffect({
      decode: (sent) => {
        const { credits_used: creditsUsed, error: _, request_id: __, resets_at: resetsAt, ...amounts } = sent
        return Effect.succeed(fromResponse(new domain.QuotaExceeded({ ...amounts, creditsUsed, resetsAt }), sent))
      },
      encode: (error) =>
        withRequestId({ error: "quota_exceeded" as const, message: error.message, ...quotaFields(error) })
    })
  ),
  HttpApiSchema.status(402)
)

export const RateLimited = plain(
  429,
  "rate_limited",
  domain.RateLimited,
  "The credential has reached its rate limit. Retry after the number of seconds in Retry-After."
)

export const UnsupportedParameter = plain(
  400,
  "unsupported_parameter",
  domain.UnsupportedParameter,
  "The target does not support the page, num or safe that was sent. Nothing was charged."
)

export const Unauthorized = plain(
  401,
  "unauthorized",
  domain.Unauthorized,
  "The request has no credential that this operation accepts."
)

export const Forbidden = plain(
  403,
  "forbidden",
  domain.Forbidden,
  "The caller is not allowed to do this. The message says who is."
)

export const FreshSignInRequired = plain(
  403,
  "fresh_sign_in_required",
  domain.FreshSignInRequired,
  "The person signed in more than ten minutes ago, and must sign in again to do this. Nothing has changed."
)

export const NotFound = plain(404, "not_found", domain.NotFound, "The route or the resource does not exist.")

export const InternalError = plain(
  500,
  "internal_error",
  domain.InternalError,
  "Something failed inside the service. Nothing was charged."
)

export const UpstreamError = plain(
  502,
  "upstream_error",
  domain.UpstreamError,
  "The search provider was unreachable or returned an unusable response. Costs one credit on a search, and nothing on a page."
)

export const UpstreamTimeout = plain(
  504,
  "upstream_timeout",
  domain.UpstreamTimeout,
  "The search provider did not respond in time. Costs one credit on a search, and nothing on a page."
)

export const PageUnreadable = received(domain.PageUnreadable).pipe(
  Schema.encodeTo(
    envelope("page_unreadable", "The page could not be read. Nothing was charged.", {
      reason: UnreadableReason.annotate({ identifier: undefined }),
      http_status: Schema.optionalKey(
        Schema.Int.annotate({ description: "The status of the site's response; absent if it sent none" })
      )
    }),
    SchemaTransformation.transformEffect({
      decode: (sent) => {
        const { http_status, message, reason } = sent
        const status = http_status === undefined ? {} : { httpStatus: http_status }
        return Effect.succeed(fromResponse(new domain.PageUnreadable({ message, reason, ...status }), sent))
      },
      encode: (error) =>
        withRequestId({ error: "page_unreadable" as const, message: error.message, ...unreadableFields(error) })
    })
  ),
  HttpApiSchema.status(422)
)

export const IdempotencyInProgress = plain(
  409,
  "idempotency_in_progress",
  domain.IdempotencyInProgress,
  "The first request with the same Idempotency-Key is still running. Nothing was charged. " +
    "Retry after the number of seconds in Retry-After."
)

export const LastOwner = plain(
  409,
  "last_owner",
  domain.LastOwner,
  "The account must keep at least one owner. Nothing has changed."
)

export const NoSubscription = plain(
  409,
  "no_subscription",
  domain.NoSubscription,
  "The account has no active subscription. Nothing was bought or changed."
)

export const PlanUnchanged = plain(
  409,
  "plan_unchanged",
  domain.PlanUnchanged,
  "The account is already on this plan, and no change is pending."
)

export const PaymentFailed = plain(
  409,
  "payment_failed",
  domain.PaymentFailed,
  "The payment provider declined the payment. Nothing has changed."
)

export const BillingBusy = plain(
  409,
  "billing_busy",
  domain.BillingBusy,
  "Another change to the subscription is in progress. Retry after the number of seconds in Retry-After."
)

export const BillingUnavailable = plain(
  503,
  "billing_unavailable",
  domain.BillingUnavailable,
  "Purchases are unavailable; existing purchases are not affected. If Retry-After is present, the payment provider is " +
    "unreachable; otherwise this deployment does not sell anything."
)

export const schemas = {
  invalid_request: InvalidRequest,
  unsupported_geo: UnsupportedGeo,
  unsupported_parameter: UnsupportedParameter,
  unauthorized: Unauthorized,
  forbidden: Forbidden,
  fresh_sign_in_required: FreshSignInRequired,
  not_found: NotFound,
  quota_exceeded: QuotaExceeded,
  rate_limited: RateLimited,
  internal_error: InternalError,
  upstream_error: UpstreamError,
  upstream_timeout: UpstreamTimeout,
  page_unreadable: PageUnreadable,
  idempotency_in_progress: IdempotencyInProgress,
  last_owner: LastOwner,
  no_subscription: NoSubscription,
  plan_unchanged: PlanUnchanged,
  payment_failed: PaymentFailed,
  billing_busy: BillingBusy,
  billing_unavailable: BillingUnavailable
}

export type ApiError = (typeof schemas)[keyof typeof schemas]["Type"]

export const statuses = Record.map(schemas, (schema: Schema.Constraint): number =>
  Number(Schema.resolveAnnotationsKey(schema)?.httpApiStatus ?? 500)
)

const isApiError = (error: unknown): error is ApiError =>
  Predicate.hasProperty(error, "_tag") && typeof error._tag === "string" && Object.hasOwn(statuses, error._tag)

const detailsOf = (error: ApiError): object => {
  switch (error._tag) {
    case "invalid_request":
      return { issues: error.issues }
    case "unsupported_geo":
      return { details: error.details }
    case "page_unreadable":
      return unreadableFields(error)
    case "quota_exceeded":
      return { ...quotaFields(error), resets_at: toMomentOrNull(error.resetsAt ?? undefined) }
    default:
      return {}
  }
}

/** Builds the envelope by hand. Encoding through the schema is too slow when a flood of requests fails. */
const envelopeOf = (error: ApiError, requestId: string): object => ({
  error: error._tag,
  message: error.message,
  request_id: requestId,
  ...detailsOf(error)
})

export const noteError = (error: unknown): Effect.Effect<void> =>
  Effect.map(CurrentRequest, (state) => {
    if (Predicate.hasProperty(error, "_tag")) addLogFields(state, { outcome: String(error._tag) })
  })

export const encodeApiError = (error: ApiError) =>
  Effect.map(CurrentRequest, (state) => {
    addLogFields(state, { outcome: error._tag })
    return { status: statuses[error._tag], body: envelopeOf(error, state.id) }
  })

export const apiErrorResponse = (error: ApiError): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.map(encodeApiError(error), ({ body, status }) => HttpServerResponse.jsonUnsafe(body, { status }))

export const answerError = <E>(error: E): Effect.Effect<HttpServerResponse.HttpServerResponse, E> =>
  isApiError(error) ? apiErrorResponse(error) : Effect.fail(error)
