import { Effect, Predicate, Schema, SchemaTransformation } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiSchema } from "effect/http-api"
import * as domain from "../domain/errors.ts"
import { Plan } from "../domain/Plan.ts"
import { addLogFields, CurrentRequest } from "./CurrentRequest.ts"
import { Moment } from "./wire.ts"

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
      { issues: Schema.Array(domain.Issue).annotate({ description: "One entry for each failed field" }) }
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
      encode: ({ balance, creditsUsed, message, plan, quota, remaining, resetsAt }) =>
        withRequestId({
          error: "quota_exceeded" as const,
          message,
          plan,
          quota,
          credits_used: creditsUsed,
          remaining,
          balance,
          resets_at: resetsAt
        })
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

/** The errors that are answered where no endpoint has answered, by their codes. */
const undeclaredErrors = {
  invalid_request: InvalidRequest,
  unauthorized: Unauthorized,
  not_found: NotFound,
  rate_limited: RateLimited,
  internal_error: InternalError,
  billing_unavailable: BillingUnavailable
}

const Undeclared = Schema.Union(Object.values(undeclaredErrors))
export type Undeclared = typeof Undeclared.Type

const encodeUndeclared = Schema.encodeEffect(Undeclared)

/** The status that `HttpApiSchema.status` has given to an error's schema. */
const statusOf = (schema: Schema.Constraint): number =>
  Number(Schema.resolveAnnotationsKey(schema)?.httpApiStatus ?? 500)

/** Notes for the access log that the request ends with an error. */
export const noteError = (error: unknown): Effect.Effect<void> =>
  Effect.map(CurrentRequest, (state) => {
    if (Predicate.hasProperty(error, "_tag")) addLogFields(state, { outcome: String(error._tag) })
  })

/** Status and envelope of an error that no endpoint has answered with. */
export const undeclared = Effect.fnUntraced(function* (error: Undeclared) {
  yield* noteError(error)
  const body = yield* Effect.orDie(encodeUndeclared(error))
  return { status: statusOf(undeclaredErrors[error._tag]), body }
})

/** The response to a request that no endpoint has answered. */
export const undeclaredResponse = (error: Undeclared): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.map(undeclared(error), ({ body, status }) => HttpServerResponse.jsonUnsafe(body, { status }))
