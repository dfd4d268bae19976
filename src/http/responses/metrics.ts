import { Context, Effect, Metric } from "effect"
import { HttpRouter } from "effect/http"
import { counter, gauge, histogram } from "../../services/telemetry/Instrument.ts"

const duration = histogram("http.server.request.duration", {
  description: "Time from request headers to response",
  unit: "s",
  labels: ["http.request.method", "http.route", "http.response.status_code"]
})

export const activeRequests = gauge("http.server.active_requests", {
  description: "Requests without a response yet",
  unit: "{request}",
  across: "sum"
})

export const openConnections = gauge("quarry.http.connections", {
  description: "Open connections of the public listener",
  unit: "{connection}",
  across: "sum"
})

const shedRequests = counter("quarry.http.shed", {
  description: "Requests rejected because too many requests or request bodies were in progress",
  unit: "{request}"
})

const droppedConnections = counter("quarry.http.connections.dropped", {
  description: "Connections closed because the connection limit was reached",
  unit: "{connection}"
})

const cutConnections = counter("quarry.http.connections.cut", {
  description: "Connections closed because clients did not read their responses and too many bytes were pending",
  unit: "{connection}"
})

export const forbiddenHosts = counter("quarry.admin.forbidden_hosts", {
  description: "Requests to the private listener rejected with 403 because of their Host header",
  unit: "{request}"
})

/** A path as label would let callers create unlimited series. */
const unmatched = "unmatched"

export const matchedRoute = (context: Context.Context<never>): string =>
  Context.getOrUndefined(context, HttpRouter.RouteContext)?.route.path ?? unmatched

/** Other methods share one series, because callers may send any text. */
const standardMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
const otherMethod = "_OTHER"

export const measureRequest = (
  context: Context.Context<never>,
  method: string,
  route: string,
  status: number,
  durationMs: number
): void =>
  duration
    .of(standardMethods.has(method) ? method : otherMethod, route, String(status))
    .updateUnsafe(durationMs / 1000, context)

export const countErrorResponse = (status: number): Effect.Effect<void> =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.sync(() => measureRequest(context, otherMethod, unmatched, status, 0))
  )

export const countShed: Effect.Effect<void> = Metric.update(shedRequests.of(), 1)

export const countDropped: Effect.Effect<void> = Metric.update(droppedConnections.of(), 1)

export const countCut: Effect.Effect<void> = Metric.update(cutConnections.of(), 1)

/** Starts at 0, because Prometheus would miss the first increase otherwise. */
export const initializeCounters: Effect.Effect<void> = Effect.forEach(
  [shedRequests, droppedConnections, cutConnections],
  (count) => Metric.update(count.of(), 0),
  { discard: true }
)
