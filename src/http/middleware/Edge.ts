import { Cause, Clock, Context, Effect, Exit, Layer, Option, References, type Tracer } from "effect"
import {
  HttpEffect,
  HttpRouter,
  HttpServerError,
  HttpServerRequest,
  HttpServerResponse,
  HttpTraceContext
} from "effect/http"
import { SqlError } from "effect/sql"
import { internalError, NotFound } from "../../domain/errors.ts"
import { rootCauseMessage } from "../../domain/rootCause.ts"
import { Deployment } from "../../services/Deployment.ts"
import { Ids } from "../../services/Ids.ts"
import { currentSpan, traceContext, withSpan } from "../../services/Tracing.ts"
import { unreadableBody } from "../body.ts"
import { CurrentRequest, type LogFields, make, type RequestState, requestIdFrom } from "../CurrentRequest.ts"
import { undeclaredResponse } from "../errors.ts"
import { matchedRoute, measureRequest } from "../metrics.ts"
import { type SecurityHeaders, securityHeadersFor, securityHeadersOf } from "./securityHeaders.ts"

const notFound = new NotFound({ message: "There is nothing at this address. GET /openapi.json lists what there is." })

/** One line: while the database is away each request says so, and where in the code it was noticed is the same for all. */
const logStorage = ({ message, reason }: SqlError.SqlError): Effect.Effect<void> =>
  Effect.logError(
    `Request failed: the database did not do its part (${reason._tag}: ${rootCauseMessage(reason) || message})`
  )

/** What went wrong on our side, for the operator. */
export const logFault = (cause: Cause.Cause<unknown>): Effect.Effect<void> => {
  for (const reason of cause.reasons) {
    const failure = reason._tag === "Fail" ? reason.error : reason._tag === "Die" ? reason.defect : undefined
    if (SqlError.isSqlError(failure)) return logStorage(failure)
  }
  return Effect.logError("Request failed", cause)
}

/** The envelope for what no endpoint answered: unknown route, unreadableBody body, defect. */
const rescue = (cause: Cause.Cause<unknown>): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  for (const reason of cause.reasons) {
    const failure = reason._tag === "Fail" ? reason.error : reason._tag === "Die" ? reason.defect : undefined
    if (!HttpServerError.isHttpServerError(failure)) continue
    if (failure.reason._tag === "RouteNotFound") return undeclaredResponse(notFound)
    if (failure.reason._tag === "RequestParseError") return undeclaredResponse(unreadableBody)
  }
  return Effect.andThen(logFault(cause), undeclaredResponse(internalError))
}

type App<E, R> = Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

/** Public documents, of which clients may ask for the headers alone. The router would run a search for HEAD, too (R3). */
const headPaths: ReadonlySet<string> = new Set(["/openapi.json", "/docs"])

/** Where a path ends, or is another one than the router would take it for: no path of ours needs an escape (R3). */
const pathEnd = /[?;#%]/

/** Whether there is anything at an address as it is written, and with this method. */
const isListed = ({ method, url }: HttpServerRequest.HttpServerRequest): boolean => {
  const end = url.search(pathEnd)
  if (end >= 0 && url[end] !== "?") return false
  return method !== "HEAD" || headPaths.has(pathOf(url))
}

/** What answers, or the envelope. */
const answered = <E, R>(request: HttpServerRequest.HttpServerRequest, app: App<E, R>) =>
  Effect.catchCause(isListed(request) ? app : undeclaredResponse(notFound), (cause) =>
    Cause.hasInterruptsOnly(cause) ? Effect.failCause(cause) : rescue(cause)
  )

/** What the log line says of a caller who left before the answer. No status was sent. */
const clientClosed = "client_closed"

/** Counts the request, and writes the one line that the log has for it. */
const conclude = (
  request: HttpServerRequest.HttpServerRequest,
  logFields: LogFields,
  startedAtMs: number,
  exit: Exit.Exit<HttpServerResponse.HttpServerResponse, unknown>
) =>
  Effect.withFiber(({ context }) => {
    const durationMs = Context.get(context, Clock.Clock).currentTimeMillisUnsafe() - startedAtMs
    const path = pathOf(request.url)
    const route = matchedRoute(context)
    const status = Exit.isSuccess(exit) ? exit.value.status : undefined
    const outcome = status === undefined ? clientClosed : status < 400 ? "ok" : (logFields.outcome ?? "refused")
    const line = Effect.annotateLogs(Effect.logInfo(`${request.method} ${path} ${status ?? clientClosed}`), {
      method: request.method,
      path,
      route,
      ...(status === undefined ? {} : { status }),
      duration_ms: durationMs,
      ...logFields,
      outcome
    })
    const told = Effect.andThen(describeAnswer(status, outcome), line)
    return status === undefined ? told : Effect.andThen(measureRequest(request.method, route, status, durationMs), told)
  })

const describeAnswer = (status: number | undefined, outcome: string) =>
  Effect.map(currentSpan, (span) => {
    if (span?.sampled !== true) return
    span.attribute("quarry.outcome", outcome)
    if (status === undefined) return
    span.attribute("http.response.status_code", status)
    if (status >= 500) span.attribute("error.type", outcome)
  })

/** Semantic conventions of HTTP, without what may hold a secret or a search, and without where the caller is. */
const describeRequest = (span: Tracer.Span, request: HttpServerRequest.HttpServerRequest, id: string): void => {
  if (!span.sampled) return
  span.attribute("http.request.method", request.method)
  span.attribute("url.path", pathOf(request.url))
  span.attribute("url.scheme", "http")
  span.attribute("server.address", request.headers.host?.slice(0, 256).replace(/:\d+$/, ""))
  span.attribute("user_agent.original", request.headers["user-agent"]?.slice(0, 256))
  span.attribute("quarry.request.id", id)
}

/**
 * The outermost middleware: gives each request its id (R2) and its span, turns what nobody declared into the envelope,
 * and writes the access log.
 */
const edge = <E, R>(ids: Ids["Service"], security: SecurityHeaders, app: App<E, R>) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
    Effect.flatMap(requestIdFrom(request.headers["x-request-id"], ids.requestId), (id) => {
      const parent = Option.getOrUndefined(HttpTraceContext.w3c(request.headers))
      return withSpan(request.method, { kind: "server", parent }, (span) => {
        describeRequest(span, request, id)
        return Effect.flatMap(currentSpan, (span) => known(request, make(id), security, span, app))
      })
    })
  )

/** Runs the app as a request that is known by its id: to whoever asks, to the caller, and in every line logged on the way. */
const known = <E, R>(
  request: HttpServerRequest.HttpServerRequest,
  state: RequestState,
  security: SecurityHeaders,
  span: Tracer.Span | undefined,
  app: App<E, R>
) =>
  Effect.withFiber<HttpServerResponse.HttpServerResponse, E, R>(({ context }) => {
    const startedAtMs = Context.get(context, Clock.Clock).currentTimeMillisUnsafe()
    HttpEffect.appendPreResponseHandlerUnsafe(context, (_request, response) =>
      Effect.succeed(HttpServerResponse.setHeaders(response, headersOf(state, security, span, response)))
    )
    const names = {
      ...Context.get(context, References.CurrentLogAnnotations),
      request_id: state.id,
      ...(span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId })
    }
    return Effect.onExit(answered(request, app), (exit) => conclude(request, state.logFields, startedAtMs, exit)).pipe(
      Effect.provideService(References.CurrentLogAnnotations, names),
      Effect.provideService(CurrentRequest, state)
    )
  })

/** Of the API's own headers a 500 carries ids only, the request's and the trace's: people quote it (R1, R35). */
const headersOf = (
  { headers, id }: RequestState,
  security: SecurityHeaders,
  span: Tracer.Span | undefined,
  response: HttpServerResponse.HttpServerResponse
) => ({
  "x-request-id": id,
  ...securityHeadersOf(security, response.headers),
  ...(span === undefined ? {} : { traceresponse: traceContext(span) }),
  ...(response.status === 500 ? {} : headers)
})

/** The most characters of a path in the log and in spans: callers choose its length. */
const maxPathCharacters = 256

/** A path without what follows it, which may hold what people search for. */
const pathOf = (url: string): string => {
  const end = url.search(pathEnd)
  return url.slice(0, end < 0 ? maxPathCharacters : Math.min(end, maxPathCharacters))
}

export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const ids = yield* Ids
    const security = securityHeadersFor((yield* Deployment).origin)
    return HttpRouter.middleware((app) => edge(ids, security, app), { global: true })
  })
)
