import { createServer } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Cause, Effect, Layer } from "effect"
import { HttpEffect, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { hasTooManyParameters } from "../../domain/requests/parameters.ts"
import { DatabaseLane } from "../../services/DatabaseLane.ts"
import { Ids } from "../../services/Ids.ts"
import { Overview } from "../../services/operations/Overview.ts"
import { Readiness } from "../../services/operations/Readiness.ts"
import { ProviderStates } from "../../services/providers/ProviderStates.ts"
import { prometheusName } from "../../services/telemetry/Instrument.ts"
import { requestIdFrom } from "../requestState.ts"
import { trustedHosts } from "./hosts.ts"
import { providerView, rerankerView } from "./providers.ts"

export const json = (status: number, body: unknown) => HttpServerResponse.jsonUnsafe(body, { status })

/** Reports of the private listener, for one process or for all workers. */
export interface Reports {
  readonly readiness: Effect.Effect<{ readonly ready: boolean }>
  readonly health: Effect.Effect<{ readonly healthy: boolean }>
  readonly providers: Effect.Effect<{
    readonly providers: ReadonlyArray<unknown>
    readonly rerankers: ReadonlyArray<unknown>
  }>
  readonly status: Effect.Effect<HttpServerResponse.HttpServerResponse>
  /** In Prometheus's text format. */
  readonly metrics: Effect.Effect<string>
}

export const routesOf = ({ health, metrics, providers, readiness, status }: Reports) =>
  Layer.mergeAll(
    HttpRouter.add("GET", "/healthz", json(200, { status: "up" })),
    HttpRouter.add(
      "GET",
      "/readyz",
      Effect.flatMap(HttpServerRequest.ParsedSearchParams, (parameters) =>
        "full" in parameters
          ? Effect.map(health, (report) => json(report.healthy ? 200 : 503, report))
          : Effect.map(readiness, (report) => json(report.ready ? 200 : 503, report))
      )
    ),
    HttpRouter.add(
      "GET",
      "/providers",
      Effect.map(providers, (all) => json(200, all))
    ),
    HttpRouter.add("GET", "/status", status),
    HttpRouter.add(
      "GET",
      "/metrics",
      Effect.map(metrics, (text) =>
        HttpServerResponse.text(text, { contentType: "text/plain; version=0.0.4; charset=utf-8" })
      )
    )
  )

const routes = Layer.unwrap(
  Effect.gen(function* () {
    const readiness = yield* Readiness
    const states = yield* ProviderStates
    const overview = yield* Overview
    return routesOf({
      readiness: readiness.report,
      health: readiness.full,
      providers: Effect.zipWith(states.reports, states.rerankers, (all, rerankers) => ({
        providers: all.map(providerView),
        rerankers: rerankers.map(rerankerView)
      })).pipe(Effect.provideService(DatabaseLane, "operator")),
      status: Effect.map(overview.look, (status) => json(200, status)),
      metrics: PrometheusMetrics.format({ metricNameMapper: prometheusName })
    })
  })
)

const missing = json(404, { error: "not_found" })

const notFound = HttpRouter.middleware(
  (app) =>
    Effect.catchCause(app, (cause) => {
      const error = Cause.squash(cause)
      const isMissing = HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound"
      return isMissing ? Effect.succeed(missing) : Effect.failCause(cause)
    }),
  { global: true }
)

/** The router parses many parameters slowly (R70), and copies the path for each escaped `%`, which no route has. */
const parsable = HttpRouter.middleware(
  (app) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) => {
      if (/^[^?]*%/.test(url)) return Effect.succeed(missing)
      return hasTooManyParameters(url) ? Effect.succeed(json(400, { error: "invalid_request" })) : app
    }),
  { global: true }
)

const identified = Layer.unwrap(
  Effect.map(Ids, (ids) =>
    HttpRouter.middleware(
      (app) =>
        Effect.gen(function* () {
          const { headers } = yield* HttpServerRequest.HttpServerRequest
          const id = yield* requestIdFrom(headers["x-request-id"], ids.requestId)
          yield* HttpEffect.appendPreResponseHandler((_request, response) =>
            Effect.succeed(HttpServerResponse.setHeader(response, "x-request-id", id))
          )
          return yield* app
        }),
      { global: true }
    )
  )
)

export interface AdminOptions {
  readonly host: string
  readonly port: number
  /** Hostnames that clients use besides `host`. IP addresses and names without a dot are always accepted (R72). */
  readonly hosts: ReadonlyArray<string>
}

/** The private listener (R34), built before the public one so that it closes last and readiness reports the drain. */
export const layer = (options: AdminOptions) =>
  // Provides nothing: the public listener would otherwise add its routes to this router.
  options.port === 0 ? Layer.empty : Layer.effectDiscard(Layer.build(listener(options)))

export const listener = (options: AdminOptions & { readonly exclusive?: boolean }) => serve(routes, options)

export const serve = <E, R>(
  routes: Layer.Layer<never, E, R>,
  { hosts, ...options }: AdminOptions & { readonly exclusive?: boolean }
) =>
  // `identified` is outermost, so that rejected requests get an ID too (R2).
  HttpRouter.serve(
    Layer.mergeAll(routes, trustedHosts([options.host, ...hosts]), parsable, notFound).pipe(Layer.provide(identified)),
    { disableLogger: true, disableListenLog: true }
  ).pipe(Layer.provideMerge(NodeHttpServer.layer(createServer, { ...options, gracefulShutdownTimeout: "1 second" })))
