import { Effect, Predicate, Schema, SchemaTransformation } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiSchema } from "effect/http-api"
import * as domain from "../domain/errors.ts"
import { Plan } from "../domain/Plan.ts"
import { addLogFields, CurrentRequest } from "./CurrentRequest.ts"
import { Moment, toMomentOrNull } from "./wire.ts"

/**
 * The one place where the API's errors meet their status and their envelope. Each schema is a domain error on the
 * inside and what clients read on the outside: endpoints declare them, and the edge encodes with them what nobody
 * declared.
 */

interface Described<Code extends string> {
  readonly code: Code
  /** The name of the schema in the document. */
  readonly identifier: string
  /** The meaning of the error for clients. */
  readonly description: string
}

const envelope = <const Code extends string, const Details extends Schema.Struct.Fields>(
  { code, description, identifier }: Described<Code>,
  details: Details
) =>
  Schema.Struct({
    error: Schema.Literal(code),
    message: Schema.String.annotate({ description: "Human-readable, safe to show to an end user" }),
    request_id: Schema.String.annotate({ description: "Same value as the X-Request-Id response header" }),
    ...details
  }).annotate({ identifier, description })

const withRequestId = <Fields extends object>(fields: Fields) =>
  Effect.map(CurrentRequest, ({ id }) => ({ ...fields, request_id: id }))

/** The fields of a 402 beside those of every envelope. */
const quotaFields = ({ balance, creditsUsed, plan, quota, remaining, resetsAt }: domain.QuotaExceeded) => ({
  plan,
  quota,
  credits_used: creditsUsed,
  remaining,
  balance,
  resets_at: resetsAt
})

/** An error whose envelope has nothing beyond code, message and request id. */
const plain = <E extends { readonly message: string }, const Code extends string>(
  status: number,
  described: Described<Code>,
  error: Schema.Codec<E, unknown> & { new (fields: { readonly message: string }): E }
) =>
  Schema.toType(error).pipe(
    Schema.encodeTo(
      envelope(described, {}),
      SchemaTransformation.transformEffect({
        decode: ({ message }) => Effect.succeed(new error({ message })),
        encode: ({ message }) => withRequestId({ error: described.code, message })
      })
    ),
    HttpApiSchema.status(status)
  )

export const InvalidRequest = Schema.toType(domain.InvalidRequest).pipe(
  Schema.encodeTo(
    envelope(
      {
        code: "invalid_request",
        identifier: "InvalidRequest",
        description: "The request cannot be read, or fields of it are not valid. Nothing was charged."
      },
      {
        issues: Schema.Array(domain.Issue).annotate({
          description: `One entry for each failed field, at most ${domain.maxIssues}; the last may say how many more failed`
        })
      }
    ),
    SchemaTransformation.transformEffect({
      decode: ({ issues, message }) => Effect.succeed(new domain.InvalidRequest({ message, issues })),
      encode: ({ issues, message }) => withRequestId({ error: "invalid_request" as const, message, issues })
    })
  ),
  HttpApiSchema.status(400)
)

export const UnsupportedGeo = Schema.toType(domain.UnsupportedGeo).pipe(
  Schema.encodeTo(
    envelope(
      {
        code: "unsupported_geo",
        identifier: "UnsupportedGeo",
        description: "The country is not supported. Nothing was charged."
      },
      { details: Schema.Array(Schema.String).annotate({ description: "The supported country codes" }) }
    ),
    SchemaTransformation.transformEffect({
      decode: ({ details, message }) => Effect.succeed(new domain.UnsupportedGeo({ message, details })),
      encode: ({ details, message }) => withRequestId({ error: "unsupported_geo" as const, message, details })
    })
  ),
  HttpApiSchema.status(400)
)

export const QuotaExceeded = Schema.toType(domain.QuotaExceeded).pipe(
  Schema.encodeTo(
    envelope(
      {
        code: "quota_exceeded",
        identifier: "QuotaExceeded",
        description: "Quota and balance do not cover the request. Nothing was run or charged."
      },
      {
        plan: Plan,
        quota: Schema.Int.annotate({ description: "Requests the quota allows in the period" }),
        credits_used: Schema.Int.annotate({ description: "Credits spent inside that quota" }),
        remaining: Schema.Int.annotate({ description: "What is left of the period's quota" }),
        balance: Schema.Int.annotate({ description: "Pack credits left" }),
        resets_at: Schema.NullOr(Moment).annotate({
          description: "ISO 8601 moment at which the quota resets; null on the trial"
        })
      }
    ),
    SchemaTransformation.transformEffect({
      decode: ({ credits_used: creditsUsed, error: _, request_id: __, resets_at: resetsAt, ...figures }) =>
        Effect.succeed(new domain.QuotaExceeded({ ...figures, creditsUsed, resetsAt })),
      encode: (error) =>
        withRequestId({ error: "quota_exceeded" as const, message: error.message, ...quotaFields(error) })
    })
  ),
  HttpApiSchema.status(402)
)

/** Clients read when to try again from the response's `Retry-After`: the envelope does not hold it. */
export const RateLimited = Schema.toType(domain.RateLimited).pipe(
  Schema.encodeTo(
    envelope(
      {
        code: "rate_limited",
        identifier: "RateLimited",
        description: "The credential's requests of a minute are spent. Retry-After says when one can be admitted again."
      },
      {}
    ),
    SchemaTransformation.transformEffect({
      decode: ({ message }) => Effect.succeed(new domain.RateLimited({ message })),
      encode: ({ message }) => withRequestId({ error: "rate_limited" as const, message })
    })
  ),
  HttpApiSchema.status(429)
)

export const UnsupportedParameter = plain(
  400,
  {
    code: "unsupported_parameter",
    identifier: "UnsupportedParameter",
    description: "The target does not serve page, num or safe as sent. Nothing was charged."
  },
  domain.UnsupportedParameter
)

export const Unauthorized = plain(
  401,
  {
    code: "unauthorized",
    identifier: "Unauthorized",
    description: "The request presents no credential that the operation accepts."
  },
  domain.Unauthorized
)

export const Forbidden = plain(
  403,
  {
    code: "forbidden",
    identifier: "Forbidden",
    description: "The caller may not do this. The message says who may."
  },
  domain.Forbidden
)

export const NotFound = plain(
  404,
  {
    code: "not_found",
    identifier: "NotFound",
    description: "There is nothing at the address, or no such key in the account."
  },
  domain.NotFound
)

export const InternalError = plain(
  500,
  {
    code: "internal_error",
    identifier: "InternalError",
    description: "A fault of the service. Nothing was charged."
  },
  domain.InternalError
)

export const UpstreamError = plain(
  502,
  {
    code: "upstream_error",
    identifier: "UpstreamError",
    description: "The search provider could not be reached, or gave an unusable answer. Costs one credit."
  },
  domain.UpstreamError
)

export const UpstreamTimeout = plain(
  504,
  {
    code: "upstream_timeout",
    identifier: "UpstreamTimeout",
    description: "The search provider did not answer within 15 seconds. Costs one credit."
  },
  domain.UpstreamTimeout
)

export const IdempotencyInProgress = plain(
  409,
  {
    code: "idempotency_in_progress",
    identifier: "IdempotencyInProgress",
    description:
      "The first request with the same Idempotency-Key is still running. Nothing was charged; Retry-After says when to try " +
      "again."
  },
  domain.IdempotencyInProgress
)

export const NoSubscription = plain(
  409,
  {
    code: "no_subscription",
    identifier: "NoSubscription",
    description: "The account has no active subscription. Nothing was bought or changed."
  },
  domain.NoSubscription
)

export const PlanUnchanged = plain(
  409,
  {
    code: "plan_unchanged",
    identifier: "PlanUnchanged",
    description: "The account has this plan already, and no change is pending."
  },
  domain.PlanUnchanged
)

export const PaymentFailed = plain(
  409,
  {
    code: "payment_failed",
    identifier: "PaymentFailed",
    description: "The payment provider declined the payment. Nothing has changed."
  },
  domain.PaymentFailed
)

export const BillingBusy = plain(
  409,
  {
    code: "billing_busy",
    identifier: "BillingBusy",
    description: "Another change of the subscription is running. Retry-After says when to try again."
  },
  domain.BillingBusy
)

export const BillingUnavailable = plain(
  503,
  {
    code: "billing_unavailable",
    identifier: "BillingUnavailable",
    description:
      "Nothing can be bought now. With Retry-After the payment provider cannot be reached; without, this deployment sells " +
      "nothing. What was bought is not affected."
  },
  domain.BillingUnavailable
)

/** The schemas of all errors, by their codes. */
export const schemas = {
  invalid_request: InvalidRequest,
  unsupported_geo: UnsupportedGeo,
  unsupported_parameter: UnsupportedParameter,
  unauthorized: Unauthorized,
  forbidden: Forbidden,
  not_found: NotFound,
  quota_exceeded: QuotaExceeded,
  rate_limited: RateLimited,
  internal_error: InternalError,
  upstream_error: UpstreamError,
  upstream_timeout: UpstreamTimeout,
  idempotency_in_progress: IdempotencyInProgress,
  no_subscription: NoSubscription,
  plan_unchanged: PlanUnchanged,
  payment_failed: PaymentFailed,
  billing_busy: BillingBusy,
  billing_unavailable: BillingUnavailable
}

export type ApiError = (typeof schemas)[keyof typeof schemas]["Type"]

/** The status that `HttpApiSchema.status` has given to an error's schema. */
const statusOf = (schema: Schema.Constraint): number =>
  Number(Schema.resolveAnnotationsKey(schema)?.httpApiStatus ?? 500)

const statuses: ReadonlyMap<unknown, number> = new Map(
  Object.entries(schemas).map(([code, schema]) => [code, statusOf(schema)])
)

const isApiError = (error: unknown): error is ApiError =>
  Predicate.hasProperty(error, "_tag") && statuses.has(error._tag)

const detailsOf = (error: ApiError): object => {
  switch (error._tag) {
    case "invalid_request":
      return { issues: error.issues }
    case "unsupported_geo":
      return { details: error.details }
    case "quota_exceeded":
      return { ...quotaFields(error), resets_at: toMomentOrNull(error.resetsAt ?? undefined) }
    default:
      return {}
  }
}

/** The envelope that an error's schema encodes, made by hand, because schemas are slow and floods of requests fail. */
const envelopeOf = (error: ApiError, requestId: string): object => ({
  error: error._tag,
  message: error.message,
  request_id: requestId,
  ...detailsOf(error)
})

/** Notes for the access log that the request ends with an error. */
export const noteError = (error: unknown): Effect.Effect<void> =>
  Effect.map(CurrentRequest, (state) => {
    if (Predicate.hasProperty(error, "_tag")) addLogFields(state, { outcome: String(error._tag) })
  })

/** Status and envelope of an error, which the access log's line names. */
export const encodeApiError = (error: ApiError) =>
  Effect.map(CurrentRequest, (state) => {
    addLogFields(state, { outcome: error._tag })
    return { status: statuses.get(error._tag) ?? 500, body: envelopeOf(error, state.id) }
  })

/** The response to a request that ends with an error. */
export const apiErrorResponse = (error: ApiError): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.map(encodeApiError(error), ({ body, status }) => HttpServerResponse.jsonUnsafe(body, { status }))

/** Answers the API's errors. Any other is for the edge, which makes a 500 of it. */
export const answerError = <E>(error: E): Effect.Effect<HttpServerResponse.HttpServerResponse, E> =>
  isApiError(error) ? apiErrorResponse(error) : Effect.fail(error)
