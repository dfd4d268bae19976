import { createServer, type IncomingMessage, type Server } from "node:http"
import { type AddressInfo, Server as NetServer } from "node:net"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Clock, Context, Deferred, Duration, Effect, type Exit, Fiber, Option, Scope } from "effect"
import { HttpServerError, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { InvalidRequest } from "../../domain/errors.ts"
import { observe } from "../../services/Instrument.ts"
import { Readiness } from "../../services/Readiness.ts"
import { activeRequests, countCut, countDropped, countShed, initializeCounters, openConnections } from "../metrics.ts"
import { answerUnparsable, type Connections, probeHalfClosed, trackConnections } from "./Connections.ts"
import * as ErrorResponse from "./ErrorResponse.ts"
import { busyError, busyRetrySeconds, CurrentIntake, Intake, type IntakeLimits } from "./Intake.ts"
import { ResponseBacklog, responseClassOf } from "./ResponseBacklog.ts"

/** Limits of the listener and of each of its connections: sizes in bytes, times in milliseconds. */
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
  /** The time from the failing of readiness to the end of accepting connections, asked as the shutdown begins (R54). */
  readonly drainDelay: () => Duration.Duration
  /** The longest that accepted requests may take after that. */
  readonly drain: Duration.Duration
  readonly limits: ListenerLimits
}

export type App = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  unknown,
  HttpServerRequest.HttpServerRequest | Scope.Scope
>

const hostMismatch = InvalidRequest.whole("it must have exactly one Host header")

/** Checks for exactly one `Host`: of two, a cache or an access check may read the first and the server the second. */
const hasOneHost = ({ httpVersion, rawHeaders }: IncomingMessage): boolean => {
  // `rawHeaders` alternates names and values. `headersDistinct` would make a list of every other header too.
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === "host") hosts++
  }
  return hosts === 1 || (hosts === 0 && httpVersion === "1.0")
}

const makeServer = (limits: ListenerLimits, backlog: ResponseBacklog): Server => {
  const server = createServer({
    ServerResponse: responseClassOf(backlog),
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    // The delay with which the first two timeouts may fire. Node's default of 30 s would double them.
    connectionsCheckingInterval: Math.min(1000, limits.headersTimeoutMs),
    // Node's own 400 has no envelope; `hasOneHost` makes this check instead.
    requireHostHeader: false,
    // Otherwise Node drops the second of two Authorization headers, and a proxy may have checked that one (R22).
    joinDuplicateHeaders: true
  })
  server.maxConnections = limits.maxConnections
  server.timeout = limits.inactivityTimeoutMs
  return Object.assign(server, {
    // A client may half-close its connection after its request. Node would then close the other half too, and a charged
    // answer would be lost.
    httpAllowHalfOpen: true,
    // Above the limit of connections a worker drops one as any process does. Node would hand it to the other workers, and
    // where all are full to each of them in turn without end.
    dropMaxConnection: true
  })
}

const listen = (server: Server, options: ListenerOptions) =>
  Effect.callback<AddressInfo, HttpServerError.ServeError>((resume) => {
    const onError = (cause: Error) => resume(Effect.fail(new HttpServerError.ServeError({ cause })))
    server.once("error", onError)
    server.listen(options.port, options.host, () => {
      server.off("error", onError)
      resume(Effect.succeed(server.address() as AddressInfo)) // It listens on a port and not on a pipe.
    })
  })

/** Checks for a streamed body, whose bytes are still being made when the response is handed over. */
const isStream = (exit: Exit.Exit<HttpServerResponse.HttpServerResponse, unknown>): boolean =>
  exit._tag === "Success" && exit.value.body._tag === "Stream"

/**
 * Counts a request as in flight while its response is made. A response that waits for a slow reader is not counted,
 * because it holds nothing but its bytes, which `ResponseBacklog` limits.
 */
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
 * Raises the number of services that can be added to a context before the whole map is copied, from 8 to 16. A request
 * adds seven before its handler begins, so each request would otherwise copy the map.
 */
const deepenContext = (context: Context.Context<never>): Context.Context<never> =>
  Context.makeUnsafe(context.mapUnsafe, { maxDepth: 16 })

/** Ends the listener: it takes requests for the delay, as the last ones on their connections, and then drains. */
const end = Effect.fnUntraced(function* (server: Server, connections: Connections, options: ListenerOptions) {
  connections.announcesClose = true
  yield* Effect.sleep(options.drainDelay())
  yield* drain(server, connections, options.drain)
})

/** Stops accepting, waits for the responses to accepted requests, and destroys what is still open after `duration`. */
const drain = Effect.fnUntraced(function* (server: Server, connections: Connections, duration: Duration.Duration) {
  const closed = yield* Deferred.make<void>()
  connections.isDraining = true
  // Not the HTTP server's own `close`: it destroys connections with unflushed responses. It also stops the timeouts, so
  // that one slow sender would hold the drain to its end.
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

/**
 * Serves `app` until the scope closes, then drains. Readiness fails first; after `drainDelay` idle connections are
 * closed, accepted requests are answered, and what still runs after `drain` is cut off.
 *
 * Every error response has the envelope and a request id, also where no request could be parsed. `NodeHttpServer.layer`
 * cannot do this: it answers upgrades and expectations by itself, and its shutdown leaves some connections open.
 */
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
    Effect.updateContext(deepenContext)
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
  yield* initializeCounters
  yield* observe(activeRequests.of(), () => connections.inFlight)
  yield* observe(openConnections.of(), () => connections.bySocket.size)

  const address = yield* listen(server, options)
  yield* Effect.addFinalizer(() => Effect.andThen(readiness.setListener("draining"), end(server, connections, options)))
  yield* readiness.setListener("serving")
  return address
})
