import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Duration, Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { limits } from "../http/listener/limits.ts"
import { type ListenerLimits, serve } from "../http/listener/NodeListener.ts"
import { FirstSignal } from "./lifecycle/Signals.ts"
import * as Routes from "./Routes.ts"

export interface ListenerOptions {
  readonly host: string
  readonly port: number
  readonly grace: Duration.Duration
  /** While draining, the listener still accepts requests (R54). At most half of `grace`. */
  readonly drainDelay: Duration.Duration
  readonly limits?: Partial<ListenerLimits>
}

/** Reserved for the layers below the listener to settle, export and close the database. */
const closingReserve = (grace: Duration.Duration): Duration.Duration =>
  Duration.min(Duration.seconds(5), Duration.times(grace, 0.2))

/** Starts the public listener and returns its address. Fails if the address cannot be bound. */
export const make = Effect.fnUntraced(function* ({ drainDelay, grace, host, port, ...options }: ListenerOptions) {
  const firstSignal = yield* FirstSignal
  const app = yield* HttpRouter.toHttpEffect(Routes.layer).pipe(
    Effect.provideService(HttpRouter.RouterConfig, Routes.routerConfig)
  )
  return yield* serve(app, {
    host,
    port,
    // SIGINT comes from a terminal, where no load balancer has to notice the shutdown.
    drainDelay: () => (firstSignal() === "SIGINT" ? Duration.zero : drainDelay),
    drain: Duration.subtract(grace, Duration.sum(closingReserve(grace), drainDelay)),
    limits: { ...limits, ...options.limits }
  })
})

export const layer = (options: ListenerOptions) =>
  Layer.effectDiscard(make(options)).pipe(Layer.provide(NodeHttpServer.layerHttpServices))
