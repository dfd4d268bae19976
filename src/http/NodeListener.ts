import { createServer, type IncomingMessage, type Server } from "node:http"
import { type AddressInfo, Server as NetServer } from "node:net"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Clock, Context, Deferred, Duration, Effect, type Exit, Fiber, Option, Scope } from "effect"
import { HttpServerError, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { InvalidRequest } from "../domain/errors.ts"
import { observe } from "../services/Instrument.ts"
import { Readiness } from "../services/Readiness.ts"
import { probeHalfClosed, refuseUnparsable, type State, track } from "./Connections.ts"
import { busy, busyRetrySeconds, CurrentIntake, Intake, type IntakeLimits } from "./Intake.ts"
import { activeRequests, countCut, countDropped, countShed, openConnections, startCounting } from "./metrics.ts"
import * as Refusal from "./Refusal.ts"
import { countingResponse, Unread } from "./Unread.ts"

/** What the listener and each of its connections may take: sizes in bytes, times in milliseconds. */
export interface ListenerLimits extends IntakeLimits {
  readonly maxConnections: number
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
  /** How long requests that were accepted may take after the listener has been told to stop. */
  readonly drain: Duration.Duration
  readonly limits: ListenerLimits
}

export type App = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  unknown,
  HttpServerRequest.HttpServerRequest | Scope.Scope
>

const hostMismatch = InvalidRequest.whole("it must have exactly one Host header")

/** A request with two hosts is read in two ways by two parties, one of which may be a cache or an access check. */
const hasOneHost = ({ httpVersion, rawHeaders }: IncomingMessage): boolean => {
  // Names and values by turns. Read as they came, because Node's `headersDistinct` makes lists of all the others too.
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === "host") hosts++
  }
  return hosts === 1 || (hosts === 0 && httpVersion === "1.0")
}

const makeServer = (limits: ListenerLimits, unread: Unread): Server => {
  const server = createServer({
    ServerResponse: countingResponse(unread),
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    // How late the first two of these timeouts may strike; Node's default of 30 s would double them.
    connectionsCheckingInterval: Math.min(1000, limits.headersTimeoutMs),
    // Node's own refusal has no envelope; `hasOneHost` refuses instead.
    requireHostHeader: false,
    // Else Node keeps the first of two Authorization headers: one party judges this credential, another that one.
    joinDuplicateHeaders: true
  })
  server.maxConnections = limits.maxConnections
  server.timeout = limits.inactivityTimeoutMs
  // A client that has sent its request may close its own direction: Node would then close the other one too, and an
  // answer that was charged would be lost. The property is not in Node's types.
  return Object.assign(server, { httpAllowHalfOpen: true })
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

/** Whether bytes of the answer are still to be made when it is handed over. */
const isStream = (exit: Exit.Exit<HttpServerResponse.HttpServerResponse, unknown>): boolean =>
  exit._tag === "Success" && exit.value.body._tag === "Stream"

/**
 * Counts a request as in flight while its answer is made. An answer that waits for a slow reader is not counted: it
 * needs nothing but its bytes, which `Unread` bounds.
 */
const counted = (app: App, intake: Intake): App => {
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
 * A context that takes sixteen additions before it is copied whole, every service's place in it; others take eight. A
 * request makes seven before its handler begins, on top of those that the process has made.
 */
const deep = (context: Context.Context<never>): Context.Context<never> =>
  Context.makeUnsafe(context.mapUnsafe, { maxDepth: 16 })

/** Stops accepting, lets accepted requests be answered, and cuts off what still runs after `duration`. */
const drain = Effect.fnUntraced(function* (server: Server, state: State, duration: Duration.Duration) {
  const closed = yield* Deferred.make<void>()
  state.draining = true
  // Not the HTTP server's own `close`: it cuts off answers that are not flushed yet, and stops its timeouts, so that one
  // slow sender would hold the drain to its end.
  NetServer.prototype.close.call(server, () => Deferred.doneUnsafe(closed, Effect.void))
  for (const [socket, { latest, open }] of state.connections) {
    if (open.size === 0) socket.destroy()
    else if (latest !== undefined) latest.shouldKeepAlive = false
  }
  const ended = yield* Effect.timeoutOption(Effect.interruptible(Deferred.await(closed)), duration)
  if (Option.isNone(ended)) {
    yield* Effect.logWarning(`Cutting off ${state.inFlight} requests after ${Duration.format(duration)}`)
    for (const socket of state.connections.keys()) socket.destroy()
    yield* Deferred.await(closed)
  }
  // Nothing is open any more: this ends its timers.
  server.close()
})

/**
 * Serves `app` until the scope closes, then drains: readiness fails first, connections without a request are closed,
 * accepted requests are answered, and what still runs after `drain` is cut off. Every refusal carries the envelope and
 * a request id, also of what never becomes a request. `NodeHttpServer.layer` is not used, because its shutdown leaves
 * connections open that were busy or unused when it began, and it answers upgrades and expectations by itself.
 */
export const serve = Effect.fnUntraced(function* (app: App, options: ListenerOptions) {
  const { limits } = options
  const readiness = yield* Readiness
  const refusal = yield* Refusal.make
  const scope = yield* Scope.fork(yield* Effect.scope, "parallel")
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const run = (effect: Effect.Effect<void>) => void Fiber.runIn(fork(effect), scope)

  const clock = yield* Clock.Clock
  const intake = new Intake(limits)
  const handle = yield* NodeHttpServer.makeHandler(counted(app, intake), { scope }).pipe(
    Effect.provideService(CurrentIntake, intake),
    Effect.updateContext(deep)
  )
  const refuseBusy = refusal.app(busy, { "retry-after": String(busyRetrySeconds) })
  const shed = yield* NodeHttpServer.makeHandler(Effect.andThen(countShed, refuseBusy), { scope })
  const refuseHost = yield* NodeHttpServer.makeHandler(refusal.app(hostMismatch, { connection: "close" }), { scope })

  const server = makeServer(
    limits,
    new Unread(
      limits.maxUnreadBytes,
      () => clock.currentTimeMillisUnsafe(),
      () => run(countCut)
    )
  )
  const state = track(server, (request, response) => {
    if (!hasOneHost(request)) refuseHost(request, response)
    else if (intake.full) shed(request, response)
    else handle(request, response)
  })
  refuseUnparsable(server, state, {
    refuse: (socket, error, sentId) => run(refusal.onSocket(socket, limits.lingerMs, error, sentId)),
    close: (socket) => run(Refusal.closeSocket(socket, limits.lingerMs))
  })
  probeHalfClosed(server, state, (then) => run(Effect.andThen(Effect.sleep(limits.probeAfterMs), Effect.sync(then))))
  server.on("drop", () => run(countDropped))
  yield* startCounting
  yield* observe(activeRequests.of(), () => state.inFlight)
  yield* observe(openConnections.of(), () => state.connections.size)

  const address = yield* listen(server, options)
  yield* Effect.addFinalizer(() =>
    Effect.andThen(readiness.setListener("draining"), drain(server, state, options.drain))
  )
  yield* readiness.setListener("serving")
  return address
})
