import { DateTime, Effect, Schema, SchemaTransformation } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiSchema } from "effect/http-api"
import * as domain from "../domain/errors.ts"
import { Plan } from "../domain/Plan.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { toMomentOrNull } from "./wire.ts"

/**
 * The one place where the API's errors meet their status and their envelope. Each schema is a domain error on the
 * inside and what clients read on the outside: endpoints declare them, and the edge encodes with them what nobody
 * declared.
 */

const envelope = <const Code extends string, const Details extends Schema.Struct.Fields>(
  code: Code,
  details: Details
) =>
  Schema.Struct({
    error: Schema.Literal(code),
    message: Schema.String.annotate({ description: "Human-readable, safe to show to an end user" }),
    request_id: Schema.String.annotate({ description: "Same value as the X-Request-Id response header" }),
    ...details
  })

const withRequestId = <Fields extends { readonly error: string }>(fields: Fields) =>
  Effect.map(CurrentRequest, ({ logFields, id }) => {
    logFields.outcome = fields.error
    return { ...fields, request_id: id }
  })

/** An error whose envelope has nothing beyond code, message and request id. */
const plain = <E extends { readonly message: string }, const Code extends string>(
  status: number,
  code: Code,
  identifier: string,
  error: Schema.Codec<E, unknown> & { new (fields: { readonly message: string }): E }
) =>
  Schema.toType(error).pipe(
    Schema.encodeTo(
      envelope(code, {}).annotate({ identifier }),
      SchemaTransformation.transformEffect({
        decode: ({ message }) => Effect.succeed(new error({ message })),
        encode: ({ message }) => withRequestId({ error: code, message })
      })
    ),
    HttpApiSchema.status(status)
  )

export const InvalidRequest = Schema.toType(domain.InvalidRequest).pipe(
  Schema.encodeTo(
    envelope("invalid_request", {
      issues: Schema.Array(domain.Issue).annotate({ description: "One entry for each failed field" })
    }).annotate({ identifier: "InvalidRequest" }),
    SchemaTransformation.transformEffect({
      decode: ({ issues, message }) => Effect.succeed(new domain.InvalidRequest({ message, issues })),
      encode: ({ issues, message }) => withRequestId({ error: "invalid_request" as const, message, issues })
    })
  ),
  HttpApiSchema.status(400)
)

export const UnsupportedGeo = Schema.toType(domain.UnsupportedGeo).pipe(
  Schema.encodeTo(
    envelope("unsupported_geo", {
      details: Schema.Array(Schema.String).annotate({ description: "The supported country codes" })
    }).annotate({ identifier: "UnsupportedGeo" }),
    SchemaTransformation.transformEffect({
      decode: ({ details, message }) => Effect.succeed(new domain.UnsupportedGeo({ message, details })),
      encode: ({ details, message }) => withRequestId({ error: "unsupported_geo" as const, message, details })
    })
  ),
  HttpApiSchema.status(400)
)

export const QuotaExceeded = Schema.toType(domain.QuotaExceeded).pipe(
  Schema.encodeTo(
    envelope("quota_exceeded", {
      plan: Plan,
      quota: Schema.Int.annotate({ description: "Requests the quota allows in the period" }),
      credits_used: Schema.Int.annotate({ description: "Credits spent inside that quota" }),
      remaining: Schema.Int.annotate({ description: "What is left of the period's quota" }),
      balance: Schema.Int.annotate({ description: "Pack credits left" }),
      resets_at: Schema.NullOr(Schema.String).annotate({
        description: "ISO 8601 moment at which the quota resets; null on the trial"
      })
    }).annotate({ identifier: "QuotaExceeded" }),
    SchemaTransformation.transformEffect({
      decode: ({ credits_used, error: _, request_id: __, resets_at, ...figures }) =>
        Effect.succeed(
          new domain.QuotaExceeded({
            ...figures,
            creditsUsed: credits_used,
            resetsAt: resets_at === null ? null : DateTime.toEpochMillis(DateTime.makeUnsafe(resets_at))
          })
        ),
      encode: ({ balance, creditsUsed, message, plan, quota, remaining, resetsAt }) =>
        withRequestId({
          error: "quota_exceeded" as const,
          message,
          plan,
          quota,
          credits_used: creditsUsed,
          remaining,
          balance,
          resets_at: toMomentOrNull(resetsAt ?? undefined)
        })
    })
  ),
  HttpApiSchema.status(402)
)

export const RateLimited = Schema.toType(domain.RateLimited).pipe(
  Schema.encodeTo(
    envelope("rate_limited", {}).annotate({ identifier: "RateLimited" }),
    SchemaTransformation.transformEffect({
      decode: ({ message }) => Effect.succeed(new domain.RateLimited({ message, retryAfterSeconds: 1 })),
      encode: ({ message }) => withRequestId({ error: "rate_limited" as const, message })
    })
  ),
  HttpApiSchema.status(429)
)

export const UnsupportedParameter = plain(
  400,
  "unsupported_parameter",
  "UnsupportedParameter",
  domain.UnsupportedParameter
)
export const Unauthorized = plain(401, "unauthorized", "Unauthorized", domain.Unauthorized)
export const NotFound = plain(404, "not_found", "NotFound", domain.NotFound)
export const InternalError = plain(500, "internal_error", "InternalError", domain.InternalError)
export const UpstreamError = plain(502, "upstream_error", "UpstreamError", domain.UpstreamError)
export const UpstreamTimeout = plain(504, "upstream_timeout", "UpstreamTimeout", domain.UpstreamTimeout)

/** What is answered when no endpoint has. */
const Undeclared = Schema.Union([InvalidRequest, Unauthorized, NotFound, RateLimited, InternalError])
export type Undeclared = typeof Undeclared.Type

const encodeUndeclared = Schema.encodeEffect(Undeclared)

const statusOf = {
  invalid_request: 400,
  unauthorized: 401,
  not_found: 404,
  rate_limited: 429,
  internal_error: 500
} as const

/** Status and envelope of an error that no endpoint has answered with. */
export const undeclared = (error: Undeclared) =>
  Effect.map(Effect.orDie(encodeUndeclared(error)), (body) => ({ status: statusOf[error._tag], body }))

/** The response to a request that no endpoint has answered. */
export const undeclaredResponse = (error: Undeclared): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.map(undeclared(error), ({ body, status }) => HttpServerResponse.jsonUnsafe(body, { status }))
