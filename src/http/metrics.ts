import { Context, Effect, Metric } from "effect"
import { HttpRouter } from "effect/http"
import { counter, durationBoundaries, gauge, histogram } from "../services/Instrument.ts"

const duration = histogram("http.server.request.duration", {
  description: "From a request's headers to its answer",
  unit: "s",
  labels: ["http.request.method", "http.route", "http.response.status_code"],
  boundaries: durationBoundaries
})

/** Requests that are not answered yet. */
export const activeRequests = gauge("http.server.active_requests", {
  description: "Requests that are not answered yet",
  unit: "{request}",
  labels: []
})

export const openConnections = gauge("quarry.http.connections", {
  description: "Open connections of the public listener",
  unit: "{connection}",
  labels: []
})

const shed = counter("quarry.http.shed", {
  description: "Requests refused because as many were in flight, or as many bodies awaited, as may be",
  unit: "{request}",
  labels: []
})

const dropped = counter("quarry.http.connections.dropped", {
  description: "Connections closed because as many were open as may be",
  unit: "{connection}",
  labels: []
})

const cut = counter("quarry.http.connections.cut", {
  description: "Connections closed because clients did not read their answers, and too many bytes waited",
  unit: "{connection}",
  labels: []
})

/** What requests are counted under that no route has answered: callers choose paths, and must not choose series. */
const unmatched = "unmatched"

/** The route that has answered on a fiber. The router leaves it in the fiber's context. */
export const matchedRoute = (context: Context.Context<never>): string =>
  Context.getOrUndefined(context, HttpRouter.RouteContext)?.route.path ?? unmatched

/** Callers choose methods too. */
const knownMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
const otherMethod = "_OTHER"

export const measureRequest = (
  method: string,
  route: string,
  status: number,
  durationMs: number
): Effect.Effect<void> =>
  Metric.update(duration.of(knownMethods.has(method) ? method : otherMethod, route, String(status)), durationMs / 1000)

/** A request that never reached the routes, whatever its method was. */
export const countErrorResponse = (status: number): Effect.Effect<void> =>
  measureRequest(otherMethod, unmatched, status, 0)

export const countShed: Effect.Effect<void> = Metric.update(shed.of(), 1)

export const countDropped: Effect.Effect<void> = Metric.update(dropped.of(), 1)

export const countCut: Effect.Effect<void> = Metric.update(cut.of(), 1)

/** An alert on a counter needs its zero: the first increase of one that is not there yet is none. */
export const initializeCounters: Effect.Effect<void> = Effect.forEach(
  [shed, dropped, cut],
  (count) => Metric.update(count.of(), 0),
  { discard: true }
)
