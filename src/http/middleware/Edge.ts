import { Cause, Clock, Effect, Layer } from "effect"
import { HttpEffect, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { SqlError } from "effect/sql"
import { internalError, NotFound } from "../../domain/errors.ts"
import { innermost } from "../../domain/innermost.ts"
import { Ids } from "../../services/Ids.ts"
import { unreadable } from "../body.ts"
import { undeclaredResponse } from "../errors.ts"
import { matchedRoute, measureRequest, unmatched } from "../metrics.ts"
import { RequestId, requestIdFrom } from "../RequestId.ts"

const notFound = new NotFound({ message: "There is nothing at this address. GET /openapi.json lists what there is." })

/** One line: while the database is away each request says so, and where in the code it was noticed is the same for all. */
const logStorage = ({ message, reason }: SqlError.SqlError): Effect.Effect<void> =>
  Effect.logError(`Request failed: the database did not do its part (${reason._tag}: ${innermost(reason) || message})`)

/** What went wrong on our side, for the operator. */
export const logFault = (cause: Cause.Cause<unknown>): Effect.Effect<void> => {
  for (const reason of cause.reasons) {
    const failure = reason._tag === "Fail" ? reason.error : reason._tag === "Die" ? reason.defect : undefined
    if (SqlError.isSqlError(failure)) return logStorage(failure)
  }
  return Effect.logError("Request failed", cause)
}

/** The envelope for what no endpoint answered: unknown route, unreadable body, defect. */
const rescue = (cause: Cause.Cause<unknown>): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  for (const reason of cause.reasons) {
    const failure = reason._tag === "Fail" ? reason.error : reason._tag === "Die" ? reason.defect : undefined
    if (!HttpServerError.isHttpServerError(failure)) continue
    if (failure.reason._tag === "RouteNotFound") return undeclaredResponse(notFound)
    if (failure.reason._tag === "RequestParseError") return undeclaredResponse(unreadable)
  }
  return Effect.andThen(logFault(cause), undeclaredResponse(internalError))
}

/**
 * The outermost middleware: gives each request its id (R2), turns what nobody declared into the envelope, and writes
 * the access log. HEAD is not offered, and the router would otherwise run a search for it (R3).
 */
const edge = Effect.fnUntraced(function* <E, R>(
  ids: Ids["Service"],
  app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const id = yield* requestIdFrom(request.headers["x-request-id"], ids.requestId)
  yield* HttpEffect.appendPreResponseHandler((_request, response) =>
    Effect.succeed(HttpServerResponse.setHeader(response, "x-request-id", id))
  )
  const startedAt = yield* Clock.currentTimeMillis
  let route = unmatched
  const noteRoute = Effect.map(matchedRoute, (matched) => {
    route = matched
  })
  const response = yield* (
    request.method === "HEAD" ? undeclaredResponse(notFound) : Effect.ensuring(app, noteRoute)
  ).pipe(
    Effect.catchCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.failCause(cause) : rescue(cause))),
    Effect.provideService(RequestId, id),
    Effect.annotateLogs({ request_id: id })
  )
  const durationMs = (yield* Clock.currentTimeMillis) - startedAt
  yield* measureRequest(route, response.status, durationMs)
  yield* Effect.logInfo(`${request.method} ${pathOf(request.url)} ${response.status}`).pipe(
    Effect.annotateLogs({
      request_id: id,
      method: request.method,
      path: pathOf(request.url),
      status: response.status,
      duration_ms: durationMs
    })
  )
  return response
})

/** Without the query string, which holds what people search for; cut, because callers choose its length. */
const pathOf = (url: string): string => url.split("?", 1).join("").slice(0, 256)

export const layer = Layer.unwrap(
  Effect.map(Ids, (ids) => HttpRouter.middleware((app) => edge(ids, app), { global: true }))
)
