import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Duration, Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { intakeLimits } from "./listener/Intake.ts"
import { type ListenerLimits, serve } from "./listener/NodeListener.ts"
import * as Routes from "./Routes.ts"

/** What the public listener and its connections may take. */
export const limits: ListenerLimits = {
  /** Those above it are closed unanswered: an answer costs more than a refusal may. */
  maxConnections: 8192,
  /** Unanswered requests on one connection. One above them is answered `rate_limited`, in its turn (R57). */
  maxPipelinedRequests: 64,
  /** Requests and bodies above these limits are answered `rate_limited` (R57). */
  ...intakeLimits,
  /** Of answers that clients have not read, over all connections. Beyond it the slowest readers are cut off. */
  maxUnreadBytes: 64 * 1024 * 1024,
  /** Request line and headers together (R2). */
  maxHeaderBytes: 16 * 1024,
  /** For the headers of a request to arrive. */
  headersTimeoutMs: 10_000,
  /** For a whole request to arrive. */
  requestTimeoutMs: 30_000,
  /** For the next request on an idle connection: longer than the 60 s of common load balancers, which close first. */
  keepAliveTimeoutMs: 65_000,
  /** Without a byte in either direction, as with a client that does not read. Longer than the longest batch. */
  inactivityTimeoutMs: 120_000,
  /** For a client to read a refusal before its connection is destroyed. */
  lingerMs: 500,
  /** From a client's closing of its direction to an interim response, which tells whether it has left. */
  probeAfterMs: 250
}

export interface ServerOptions {
  readonly host: string
  readonly port: number
  /** How long a shutdown may take altogether. */
  readonly grace: Duration.Duration
  readonly limits?: Partial<ListenerLimits>
}

/** What the layers below the listener get of the grace: to settle, to export, to close the database. */
const closingReserve = (grace: Duration.Duration): Duration.Duration =>
  Duration.min(Duration.seconds(5), Duration.times(grace, 0.2))

/** Starts the public listener and answers where it listens. It fails when the address cannot be bound. */
export const make = Effect.fnUntraced(function* ({ grace, host, port, ...options }: ServerOptions) {
  const app = yield* HttpRouter.toHttpEffect(Routes.layer).pipe(
    Effect.provideService(HttpRouter.RouterConfig, Routes.routerConfig)
  )
  return yield* serve(app, {
    host,
    port,
    drain: Duration.subtract(grace, closingReserve(grace)),
    limits: { ...limits, ...options.limits }
  })
})

/** The public listener. Requires the services. */
export const layer = (options: ServerOptions) =>
  Layer.effectDiscard(make(options)).pipe(Layer.provide(NodeHttpServer.layerHttpServices))
