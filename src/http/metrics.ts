import { Context, Effect, Metric } from "effect"
import { HttpRouter } from "effect/http"
import { counter, durationBoundaries, gauge, histogram } from "../services/Instrument.ts"

const duration = histogram("http.server.request.duration", {
  description: "From a request's headers to its answer",
  unit: "s",
  labels: ["http.request.method", "http.route", "http.response.status_code"],
  boundaries: durationBoundaries
})

export const activeRequests = gauge("http.server.active_requests", {
  description: "Requests that are not answered yet",
  unit: "{request}",
  labels: [],
  across: "sum"
})

export const openConnections = gauge("quarry.http.connections", {
  description: "Open connections of the public listener",
  unit: "{connection}",
  labels: [],
  across: "sum"
})

const shedRequests = counter("quarry.http.shed", {
  description: "Requests refused because as many were in flight, or as many bodies awaited, as may be",
  unit: "{request}",
  labels: []
})

const droppedConnections = counter("quarry.http.connections.dropped", {
  description: "Connections closed because as many were open as may be",
  unit: "{connection}",
  labels: []
})

const cutConnections = counter("quarry.http.connections.cut", {
  description: "Connections closed because clients did not read their answers, and too many bytes waited",
  unit: "{connection}",
  labels: []
})

export const forbiddenHosts = counter("quarry.admin.forbidden_hosts", {
  description: "Requests to the private listener answered 403 for their Host",
  unit: "{request}",
  labels: []
})

/** The `http.route` of requests that match no route: a path as label would let callers create series without end. */
const unmatched = "unmatched"

/** The pattern of the route that handled the request. The router adds it to the fiber's context. */
export const matchedRoute = (context: Context.Context<never>): string =>
  Context.getOrUndefined(context, HttpRouter.RouteContext)?.route.path ?? unmatched

/** Methods that are labels. Others share one series, because callers may send any text as method. */
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

/** Counts a response of the listener to a request that reached no route. Its method may be unknown. */
export const countErrorResponse = (status: number): Effect.Effect<void> =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.sync(() => measureRequest(context, otherMethod, unmatched, status, 0))
  )

export const countShed: Effect.Effect<void> = Metric.update(shedRequests.of(), 1)

export const countDropped: Effect.Effect<void> = Metric.update(droppedConnections.of(), 1)

export const countCut: Effect.Effect<void> = Metric.update(cutConnections.of(), 1)

/** Exports each counter with 0 at start. Without a sample before it, Prometheus would not see the first increase. */
export const initializeCounters: Effect.Effect<void> = Effect.forEach(
  [shedRequests, droppedConnections, cutConnections],
  (count) => Metric.update(count.of(), 0),
  { discard: true }
)
