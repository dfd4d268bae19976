import { Effect, Metric, Option } from "effect"
import { HttpRouter } from "effect/http"

const requests = Metric.counter("quarry.http.requests.total", {
  description: "Requests answered, by route and status",
  incremental: true
})

const durationSeconds = Metric.histogram("quarry.http.request.duration.seconds", {
  description: "From a request's headers to its answer, by route",
  boundaries: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60]
})

const dropped = Metric.counter("quarry.http.connections.dropped.total", {
  description: "Connections closed because as many were open as may be",
  incremental: true
})

/** What requests are counted under that no route has answered: callers choose paths, and must not choose series. */
export const unmatched = "unmatched"

/** The route that has answered on this fiber. The router leaves it in the context of the request. */
export const matchedRoute: Effect.Effect<string> = Effect.map(
  Effect.serviceOption(HttpRouter.RouteContext),
  Option.match({ onNone: () => unmatched, onSome: ({ route }) => route.path })
)

const countRequest = (route: string, status: number): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(requests, { route, status: String(status) }), 1)

export const countRefused = (status: number): Effect.Effect<void> => countRequest(unmatched, status)

export const measureRequest = (route: string, status: number, durationMs: number): Effect.Effect<void> =>
  Effect.andThen(
    countRequest(route, status),
    Metric.update(Metric.withAttributes(durationSeconds, { route }), durationMs / 1000)
  )

export const countDropped: Effect.Effect<void> = Metric.update(dropped, 1)
