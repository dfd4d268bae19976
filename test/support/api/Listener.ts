import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Duration, Effect, Exit, Layer, References, Scope } from "effect"
import type { SearchRequest } from "../../../src/domain/search/SearchRequest.ts"
import { limits } from "../../../src/http/listener/limits.ts"
import { type App, type ListenerLimits, serve } from "../../../src/http/listener/NodeListener.ts"
import * as Listener from "../../../src/process/Listener.ts"
import { Readiness } from "../../../src/services/operations/Readiness.ts"
import * as StubServices from "./StubServices.ts"

/** The public listener on a free loopback port with stub services. Stops with the scope, or earlier. */
export const start = Effect.fnUntraced(function* (options?: {
  /** An app to serve instead of the routes. */
  readonly app?: App
  readonly during?: (request: SearchRequest) => Effect.Effect<void>
  readonly grace?: Duration.Duration
  readonly drainDelay?: Duration.Duration
  readonly limits?: Partial<ListenerLimits>
}) {
  const context = yield* Layer.build(
    Layer.merge(StubServices.layer(options?.during ?? (() => Effect.void)), NodeHttpServer.layerHttpServices)
  )
  const scope = yield* Scope.make()
  const stop = Scope.close(scope, Exit.void)
  const settings = {
    host: "127.0.0.1",
    port: 0,
    grace: options?.grace ?? Duration.seconds(5),
    drainDelay: options?.drainDelay ?? Duration.zero,
    limits: { ...limits, ...options?.limits }
  }
  const listening =
    options?.app === undefined
      ? Listener.make(settings)
      : serve(options.app, { ...settings, drain: settings.grace, drainDelay: () => settings.drainDelay })
  const { port } = yield* listening.pipe(
    Scope.provide(scope),
    Effect.provideContext(context),
    Effect.provideService(References.MinimumLogLevel, "None")
  )
  yield* Effect.addFinalizer(() => stop)
  return { port, stop, readiness: Context.get(context, Readiness) }
})

/** The public listener on a free loopback port with the test's services. Stops with the scope. */
export const startOverServices = Effect.map(
  Listener.make({
    host: "127.0.0.1",
    port: 0,
    grace: Duration.seconds(5),
    drainDelay: Duration.zero,
    limits
  }).pipe(Effect.provide([NodeHttpServer.layerHttpServices, Readiness.layer])),
  ({ port }) => port
)
