import { Cause, Clock, Context, Effect, Exit, Layer, Option, References, type Tracer } from "effect"
import {
  Headers,
  HttpEffect,
  HttpRouter,
  HttpServerError,
  HttpServerRequest,
  type HttpServerResponse,
  HttpTraceContext
} from "effect/http"
import { internalError } from "../../domain/errors.ts"
import { CurrentRequest, makeRequestState, type RequestState } from "../../domain/requests/CurrentRequest.ts"
import { Ids } from "../../services/Ids.ts"
import { Deployment } from "../../services/operations/Deployment.ts"
import { currentSpan, RequestOfTrace, traceContext, withSpan } from "../../services/telemetry/Tracing.ts"
import { apiErrorResponse } from "../errors.ts"
import { requestIdFrom } from "../requestState.ts"
import { unreadableBody } from "../requests/body.ts"
import { withoutLongQuery } from "../requests/query.ts"
import { logFault } from "../responses/logFault.ts"
import { matchedRoute, measureRequest } from "../responses/metrics.ts"
import { type SecurityHeaders, securityHeadersFor, securityHeadersOf } from "../responses/securityHeaders.ts"
import { serverTiming } from "../responses/serverTiming.ts"
import { noRoute } from "./routeHint.ts"

const notFound = ({ method, url }: HttpServerRequest.HttpServerRequest) =>
  apiErrorResponse(noRoute(method, pathOf(url)))

const errorResponseTo = (
  request: HttpServerRequest.HttpServerRequest,
  cause: Cause.Cause<unknown>
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  for (const reason of cause.reasons) {
    const failure = reason._tag === "Fail" ? reason.error : reason._tag === "Die" ? reason.defect : undefined
    if (!HttpServerError.isHttpServerError(failure)) continue
    if (failure.reason._tag === "RouteNotFound") return notFound(request)
    if (failure.reason._tag === "RequestParseError") return apiErrorResponse(unreadableBody)
  }
  return Effect.andThen(logFault(cause), apiErrorResponse(internalError))
}

type App<E, R> = Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

/**
 * Paths that support HEAD: public documents, and the links in emails, which mail scanners probe. The router would
 * otherwise run the GET handler, and so run searches (R3).
 */
const headPaths =
  /^\/(?:openapi\.json|docs|favicon\.ico|robots\.txt|llms(?:-full)?\.txt|v1\/webhooks\/unsubscribe|oauth\/confirm|\.well-known\/change-password|dashboard(?:\/.*)?)?$/

/** The end of the path, or an escape, which no route needs: the router would decode it to another path (R3). */
const pathEnd = /[?;#%]/

const isRoutable = ({ method, url }: HttpServerRequest.HttpServerRequest): boolean => {
  const end = url.search(pathEnd)
  if (end >= 0 && url[end] !== "?") return false
  return method !== "HEAD" || headPaths.test(pathOf(url))
}

const respond = <E, R>(request: HttpServerRequest.HttpServerRequest, state: RequestState, app: App<E, R>) =>
  Effect.catchCause(isRoutable(request) ? withoutLongQuery(request, state, app) : notFound(request), (cause) =>
    Cause.hasInterruptsOnly(cause) ? Effect.failCause(cause) : errorResponseTo(request, cause)
  )

const clientClosed = "client_closed"

/** After a disconnect or during a stream, a separate fiber waits for the remaining work and then writes the entry. */
const recordRequest = (
  request: HttpServerRequest.HttpServerRequest,
  { fields, work }: RequestState,
  span: Tracer.Span | undefined,
  startedAtMs: number,
  exit: Exit.Exit<HttpServerResponse.HttpServerResponse, unknown>
) =>
  Effect.withFiber(({ context }) => {
    const sinceStart = () => Context.get(context, Clock.Clock).currentTimeMillisUnsafe() - startedAtMs
    const durationMs = sinceStart()
    const path = pathOf(request.url)
    const route = matchedRoute(context)
    const status = Exit.isSuccess(exit) ? exit.value.status : undefined
    const outcome = status === undefined ? clientClosed : status < 400 ? "ok" : (fields.outcome ?? "refused")
    const isStreamed = Exit.isSuccess(exit) && exit.value.body._tag === "Stream"
    const makeLine = () =>
      Effect.annotateLogs(Effect.logInfo(`${request.method} ${path} ${status ?? clientClosed}`), {
        method: request.method,
        path,
        route,
        ...(status === undefined ? {} : { status }),
        duration_ms: isStreamed ? sinceStart() : durationMs,
        ...fields,
        outcome: isStreamed ? (fields.outcome ?? outcome) : outcome
      })
    if (status !== undefined) measureRequest(context, request.method, route, status, durationMs)
    describeResponse(span, status, outcome)
    return work.length > 0 && (status === undefined || isStreamed)
      ? Effect.forkDetach(Effect.andThen(Effect.all(work, { discard: true }), makeLine))
      : makeLine()
  })

const describeResponse = (span: Tracer.Span | undefined, status: number | undefined, outcome: string): void => {
  if (span?.sampled !== true) return
  span.attribute("quarry.outcome", outcome)
  if (status === undefined) return
  span.attribute("http.response.status_code", status)
  if (status >= 500) span.attribute("error.type", outcome)
}

/** Omits the query string, other headers and the client address, which are private. */
const describeRequest = (span: Tracer.Span, request: HttpServerRequest.HttpServerRequest, id: string): void => {
  if (!span.sampled) return
  span.attribute("http.request.method", request.method)
  span.attribute("url.path", pathOf(request.url))
  span.attribute("url.scheme", "http")
  span.attribute("server.address", request.headers.host?.slice(0, 256).replace(/:\d+$/, ""))
  span.attribute("user_agent.original", request.headers["user-agent"]?.slice(0, 256))
  span.attribute("quarry.request.id", id)
}

const edge = <E, R>(ids: Ids["Service"], security: SecurityHeaders, app: App<E, R>) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
    Effect.flatMap(requestIdFrom(request.headers["x-request-id"], ids.requestId), (id) => {
      const parent = Option.getOrUndefined(HttpTraceContext.w3c(request.headers))
      // Callers may repeat their own IDs, and a trace's must be unique.
      const isOwn = id !== request.headers["x-request-id"]
      const annotations = isOwn ? Context.make(RequestOfTrace, id) : undefined
      return withSpan(request.method, { kind: "server", parent, annotations }, (span) => {
        describeRequest(span, request, id)
        return Effect.flatMap(currentSpan, (span) =>
          withRequestState(request, makeRequestState(id), security, span, app)
        )
      })
    })
  )

const withRequestState = <E, R>(
  request: HttpServerRequest.HttpServerRequest,
  state: RequestState,
  security: SecurityHeaders,
  span: Tracer.Span | undefined,
  app: App<E, R>
) =>
  Effect.withFiber<HttpServerResponse.HttpServerResponse, E, R>(({ context }) => {
    const clock = Context.get(context, Clock.Clock)
    const startedAtMs = clock.currentTimeMillisUnsafe()
    const startedAtNanos = clock.monotonicTimeNanosUnsafe()
    HttpEffect.appendPreResponseHandlerUnsafe(context, (_request, response) =>
      Effect.sync(() => {
        if (state.timing !== undefined) {
          const totalMs = Number(clock.monotonicTimeNanosUnsafe() - startedAtNanos) / 1e6
          state.headers["server-timing"] = serverTiming(totalMs, state.timing)
        }
        return withHeaders(response, state, security, span)
      })
    )
    const annotations = {
      ...Context.get(context, References.CurrentLogAnnotations),
      request_id: state.id,
      ...(span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId })
    }
    const responded = Effect.onExit(respond(request, state, app), (exit) =>
      recordRequest(request, state, span, startedAtMs, exit)
    )
    return Effect.updateContext(responded, (context: Context.Context<R>) =>
      Context.add(context, References.CurrentLogAnnotations, annotations).pipe(Context.add(CurrentRequest, state))
    )
  })

/** A 500 gets only request and trace IDs (R1, R35). `HttpServerResponse.setHeaders` would copy headers four times. */
const withHeaders = (
  response: HttpServerResponse.HttpServerResponse,
  { headers, id }: RequestState,
  security: SecurityHeaders,
  span: Tracer.Span | undefined
): HttpServerResponse.HttpServerResponse => {
  const all = Object.assign(
    Headers.set(response.headers, "x-request-id", id),
    securityHeadersOf(security, response.headers),
    span === undefined ? undefined : { traceresponse: traceContext(span) },
    response.status === 500 ? undefined : headers
  )
  // Copies the response, because it may be a constant shared by other requests.
  return Object.assign(Object.create(Object.getPrototypeOf(response)), response, { headers: all })
}

/** Limits paths in logs and spans, because callers choose their length. */
const maxPathCharacters = 256

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
