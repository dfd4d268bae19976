import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { type AddressInfo, Server as NetServer } from "node:net"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Clock, Context, Deferred, Duration, Effect, type Exit, Fiber, Option, Scope } from "effect"
import { HttpServerError, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { InvalidRequest } from "../../domain/errors.ts"
import { Readiness } from "../../services/operations/Readiness.ts"
import { observe } from "../../services/telemetry/Instrument.ts"
import { busyError, busyRetrySeconds, CurrentIntake, Intake, type IntakeLimits } from "../requests/Intake.ts"
import {
  activeRequests,
  countCut,
  countDropped,
  countShed,
  initializeCounters,
  openConnections
} from "../responses/metrics.ts"
import { answerUnparsable, type Connections, probeHalfClosed, trackConnections } from "./Connections.ts"
import * as ErrorResponse from "./ErrorResponse.ts"
import { ResponseBacklog, responseClassOf } from "./ResponseBacklog.ts"

/** Sizes are in bytes, times in milliseconds. */
export interface ListenerLimits extends IntakeLimits {
  readonly maxConnections: number
  readonly maxPipelinedRequests: number
  readonly maxUnreadBytes: number
  readonly maxHeaderBytes: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  readonly inactivityTimeoutMs: number
  readonly lingerMs: number
  readonly probeAfterMs: number
}

export interface ListenerOptions {
  readonly host: string
  readonly port: number
  /** Time between failing readiness and closing the listener, read when shutdown starts (R54). */
  readonly drainDelay: () => Duration.Duration
  readonly drain: Duration.Duration
  readonly limits: ListenerLimits
}

export type App = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  unknown,
  HttpServerRequest.HttpServerRequest | Scope.Scope
>

const hostMismatch = InvalidRequest.whole("it must have exactly one Host header")

/** Requires exactly one `Host`. Given two, a cache or access check could read one and the server the other. */
const hasOneHost = ({ httpVersion, rawHeaders }: IncomingMessage): boolean => {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === "host") hosts++
  }
  return hosts === 1 || (hosts === 0 && httpVersion === "1.0")
}

/** HTTP/1.0 has no chunks, so a proxy in front may see another end of this request (RFC 9112, 6.1). */
const closeAfterFaultyFraming = ({ headers, httpVersion }: IncomingMessage, response: ServerResponse): void => {
  if (httpVersion === "1.0" && headers["transfer-encoding"] !== undefined) response.shouldKeepAlive = false
}

const makeServer = (limits: ListenerLimits, backlog: ResponseBacklog): Server => {
  const server = createServer({
    ServerResponse: responseClassOf(backlog),
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    // Node checks the header and request timeouts only at this interval, which is 30 s by default.
    connectionsCheckingInterval: Math.min(1000, limits.headersTimeoutMs),
    // `hasOneHost` does this check. Node's own 400 has no envelope.
    requireHostHeader: false,
    // Node would drop a second Authorization header, which may be the one that a proxy checked (R22).
    joinDuplicateHeaders: true
  })
  server.maxConnections = limits.maxConnections
  server.timeout = limits.inactivityTimeoutMs
  return Object.assign(server, {
    // Clients may half-close after a request. Node would then close the connection and lose a charged response.
    httpAllowHalfOpen: true,
    // Otherwise a full worker passes a connection to the next one, and it circulates without end if all are full.
    dropMaxConnection: true
  })
}

const listen = (server: Server, options: ListenerOptions) =>
  Effect.callback<AddressInfo, HttpServerError.ServeError>((resume) => {
    const onError = (cause: Error) => resume(Effect.fail(new HttpServerError.ServeError({ cause })))
    server.once("error", onError)
    // Node's 511 is less than the clients that reconnect after a deployment. The kernel would drop the others' first
    // packets, which they send again after seconds.
    server.listen({ port: options.port, host: options.host, backlog: options.limits.maxConnections }, () => {
      server.off("error", onError)
      resume(Effect.succeed(server.address() as AddressInfo)) // It listens on a port and not on a pipe.
    })
  })

const isStream = (exit: Exit.Exit<HttpServerResponse.HttpServerResponse, unknown>): boolean =>
  exit._tag === "Success" && exit.value.body._tag === "Stream"

/** Counts until the response is ready. Slow readers hold only bytes, which `ResponseBacklog` limits. */
const countInFlight = (app: App, intake: Intake): App => {
  const leave = (): void => {
    intake.inFlight--
  }
  const leaveWithStream = Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
    const response = NodeHttpServerRequest.toServerResponse(request)
    if (response.destroyed) leave()
    else response.once("close", leave)
  })
  return Effect.suspend(() => {
    intake.inFlight++
    return Effect.onExitPrimitive(app, (exit) => {
      if (isStream(exit)) return leaveWithStream
      leave()
      return undefined
    })
  })
}

/**
 * Leaves out services, which handlers took when they were built (`App` needs none): `HttpApiBuilder` copies the context of
 * each request twice. References stay. A context keeps 16 additions instead of 8 before it copies its map.
 */
const forRequests = (context: Context.Context<never>): Context.Context<never> =>
  Context.makeUnsafe(new Map(Array.from(context.mapUnsafe).filter(([key]) => !isService(key))), { maxDepth: 16 })

const isService = (key: string): boolean => key.startsWith("quarry/") && !key.startsWith("quarry/references/")

const end = Effect.fnUntraced(function* (server: Server, connections: Connections, options: ListenerOptions) {
  connections.announcesClose = true
  yield* Effect.sleep(options.drainDelay())
  yield* drain(server, connections, options.drain)
})

const drain = Effect.fnUntraced(function* (server: Server, connections: Connections, duration: Duration.Duration) {
  const closed = yield* Deferred.make<void>()
  connections.isDraining = true
  // The HTTP server's own `close` would destroy connections with unflushed responses and stop the timeouts, so a slow
  // sender could delay the drain to its end.
  NetServer.prototype.close.call(server, () => Deferred.doneUnsafe(closed, Effect.void))
  for (const [socket, { latest, open }] of connections.bySocket) {
    if (open.length === 0) socket.destroy()
    else if (latest !== undefined) latest.shouldKeepAlive = false
  }
  const end = yield* Effect.timeoutOption(Effect.interruptible(Deferred.await(closed)), duration)
  if (Option.isNone(end)) {
    yield* Effect.logWarning(`Cutting off ${connections.inFlight} requests after ${Duration.format(duration)}`)
    for (const socket of connections.bySocket.keys()) socket.destroy()
    yield* Deferred.await(closed)
  }
  // All connections are closed: this clears the server's timers.
  server.close()
})

/** Unlike `NodeHttpServer.layer`, answers unparsable requests with the envelope, and leaves no connection open. */
export const serve = Effect.fnUntraced(function* (app: App, options: ListenerOptions) {
  const { limits } = options
  const readiness = yield* Readiness
  const errorResponse = yield* ErrorResponse.make
  const scope = yield* Scope.fork(yield* Effect.scope, "parallel")
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const run = (effect: Effect.Effect<void>) => void Fiber.runIn(fork(effect), scope)

  const clock = yield* Clock.Clock
  const intake = new Intake(limits)
  const handle = yield* NodeHttpServer.makeHandler(countInFlight(app, intake), { scope }).pipe(
    Effect.provideService(CurrentIntake, intake),
    Effect.updateContext(forRequests)
  )
  const busyApp = errorResponse.app(busyError, { "retry-after": String(busyRetrySeconds) })
  const handleBusy = yield* NodeHttpServer.makeHandler(Effect.andThen(countShed, busyApp), { scope })
  const hostApp = errorResponse.app(hostMismatch, { connection: "close" })
  const handleHostMismatch = yield* NodeHttpServer.makeHandler(hostApp, { scope })

  const server = makeServer(
    limits,
    new ResponseBacklog(
      limits.maxUnreadBytes,
      () => clock.currentTimeMillisUnsafe(),
      () => run(countCut)
    )
  )
  const connections = trackConnections(server, (request, response, openOnConnection) => {
    if (!hasOneHost(request)) handleHostMismatch(request, response)
    else if (intake.isFull || openOnConnection > limits.maxPipelinedRequests) handleBusy(request, response)
    else handle(request, response)
  })
  answerUnparsable(server, connections, {
    answer: (socket, error, options) => run(errorResponse.onSocket(socket, limits.lingerMs, error, options)),
    close: (socket) => run(ErrorResponse.closeSocket(socket, limits.lingerMs))
  })
  probeHalfClosed(server, connections, (then) =>
    run(Effect.andThen(Effect.sleep(limits.probeAfterMs), Effect.sync(then)))
  )
  server.on("drop", () => run(countDropped))
  server.prependListener("request", closeAfterFaultyFraming)
  yield* initializeCounters
  yield* observe(activeRequests.of(), () => connections.inFlight)
  yield* observe(openConnections.of(), () => connections.bySocket.size)

  const address = yield* listen(server, options)
  yield* Effect.addFinalizer(() => Effect.andThen(readiness.setListener("draining"), end(server, connections, options)))
  yield* readiness.setListener("serving", { host: address.address, port: address.port })
  return address
})
