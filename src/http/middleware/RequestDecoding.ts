import { Context, Effect, Layer, Result, type Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import { type HttpApiEndpoint, HttpApiError } from "effect/http-api"
import type { InvalidRequest } from "../../domain/errors.ts"
import { decoder, shortener } from "../../domain/requests/fields.ts"
import { TakesIdempotencyKey } from "../Callers.ts"
import { BodyIsOptional, type CurrentPrincipal, RequestDecoding } from "../Gates.ts"
import { parseJson, readOptionalText, readText } from "../requests/body.ts"
import { withKeyIssue } from "../requests/idempotencyKey.ts"

type Needs = CurrentPrincipal | HttpServerRequest.HttpServerRequest

/** Fails with all issues of the part. The library stops at the first, so that only failed requests are decoded twice. */
const reportingIssues = (
  kind: HttpApiError.HttpApiSchemaError["kind"],
  schema: Schema.Constraint,
  endpoint: HttpApiEndpoint.Top
) => {
  // The cast: schemas of requests need no services to decode.
  const decode = decoder(schema as Schema.ConstraintDecoder<unknown>)
  const completed = Context.get(endpoint.annotations, TakesIdempotencyKey) ? withKeyIssue : Effect.succeed
  return <A, E, R>(httpEffect: Effect.Effect<A, E, R>, input: unknown) =>
    Effect.catch(httpEffect, (error): Effect.Effect<never, E | InvalidRequest, Needs> => {
      const decoded = HttpApiError.HttpApiSchemaError.is(error) && error.kind === kind ? decode(input) : undefined
      return decoded === undefined || Result.isSuccess(decoded)
        ? Effect.fail(error)
        : Effect.flatMap(completed(decoded.failure), (failure) => Effect.fail(failure))
    })
}

const withText = (request: HttpServerRequest.HttpServerRequest, text: string): HttpServerRequest.HttpServerRequest =>
  Object.create(request, { text: { value: Effect.succeed(text) } })

/** Reads the body within its limits, so that `HttpApiBuilder` can decode it. */
const readingBody = (schema: Schema.Constraint, endpoint: HttpApiEndpoint.Top) => {
  const isOptional = Context.get(endpoint.annotations, BodyIsOptional)
  const shorten = shortener(schema)
  const reportIssues = reportingIssues("Payload", schema, endpoint)
  return Effect.fnUntraced(function* <A, E, R>(httpEffect: Effect.Effect<A, E, R>) {
    const request = yield* HttpServerRequest.HttpServerRequest
    const sent = yield* isOptional ? readOptionalText(request) : readText(request)
    const text = isOptional && sent === "" ? "{}" : sent
    const body = yield* parseJson(text)
    const input = shorten(body)
    return yield* Effect.provideService(
      reportIssues(httpEffect, input),
      HttpServerRequest.HttpServerRequest,
      withText(request, input === body ? text : JSON.stringify(input))
    )
  })
}

export const layer = Layer.succeed(RequestDecoding, (httpEffect, { endpoint }) => {
  const [payload] = endpoint.payload.values()
  if (payload !== undefined) return readingBody(payload.schemas[0], endpoint)(httpEffect)
  if (endpoint.query === undefined) return httpEffect
  const reportIssues = reportingIssues("Query", endpoint.query, endpoint)
  return Effect.flatMap(HttpServerRequest.ParsedSearchParams, (parameters) => reportIssues(httpEffect, parameters))
})
