import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { type AddressInfo, Server as NetServer } from "node:net"
import type { Duplex } from "node:stream"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Deferred, Duration, Effect, Fiber, Option, Scope } from "effect"
import { HttpServerError, type HttpServerRequest, type HttpServerResponse } from "effect/http"
import { InvalidRequest, internalError, NotFound } from "../domain/errors.ts"
import { observe } from "../services/Instrument.ts"
import { Readiness } from "../services/Readiness.ts"
import type { Undeclared } from "./errors.ts"
import { activeRequests, countDropped, countShed, openConnections, startCounting } from "./metrics.ts"
import * as Refusal from "./Refusal.ts"

/** What the listener and each of its connections may take: sizes in bytes, times in milliseconds. */
export interface ListenerLimits {
  readonly maxConnections: number
  readonly maxRequestsInFlight: number
  readonly maxHeaderBytes: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  readonly inactivityTimeoutMs: number
  readonly lingerMs: number
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

const malformed = InvalidRequest.whole("it is no well-formed HTTP request")
const headersTooLarge = InvalidRequest.whole("its headers are too large")
const tooSlow = InvalidRequest.whole("it did not arrive in time")
const hostMismatch = InvalidRequest.whole("it must have exactly one Host header")
const noTunnel = new NotFound({ message: "This is no proxy: CONNECT is not served." })

/** What Node's parser and timers refuse, by the code of their error. */
const parserErrors: Readonly<Record<string, Undeclared>> = {
  HPE_HEADER_OVERFLOW: headersTooLarge,
  ERR_HTTP_REQUEST_TIMEOUT: tooSlow
}

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

interface Connection {
  /** Requests that are not answered yet, in the order of their arrival. */
  readonly open: Set<ServerResponse>
  /** The response to the request that came last, sent or not. */
  latest: ServerResponse | undefined
}

const makeServer = (limits: ListenerLimits): Server => {
  const server = createServer({
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
  return server
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

/** Follows connections and the requests on them to their end, and hands requests on to `handle`. */
const track = (server: Server, handle: (request: IncomingMessage, response: ServerResponse) => void) => {
  const state = { connections: new Map<Duplex, Connection>(), inFlight: 0, draining: false }

  server.on("connection", (socket) => {
    state.connections.set(socket, { open: new Set(), latest: undefined })
    socket.once("close", () => state.connections.delete(socket))
  })

  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const connection = state.connections.get(request.socket)
    connection?.open.add(response)
    if (connection !== undefined) connection.latest = response
    state.inFlight++
    response.once("close", () => {
      connection?.open.delete(response)
      state.inFlight--
      // An answer whose headers were sent before the drain began has not announced the close.
      if (state.draining && connection?.open.size === 0) request.socket.destroy()
    })
    handle(request, response)
  }
  server.on("request", onRequest)
  // Any expectation but 100-continue may be ignored (RFC 9110, 10.1.1), and Node's 417 is not ours (R3).
  server.on("checkExpectation", onRequest)
  return state
}

type State = ReturnType<typeof track>

type RefuseSocket = (socket: Duplex, error: Undeclared, sentId: unknown) => void

/** Refuses what is no request, or not a whole one: without a listener Node would do so, and without the envelope. */
const refuseUnparsable = (server: Server, { connections }: State, refuse: RefuseSocket): void => {
  const broken = new WeakSet<Duplex>()

  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // The parser complains again of each further piece.
    if (broken.has(socket)) return
    broken.add(socket)
    const answer = (sentId?: unknown): void => {
      // Ended already: an answer before said that the connection closes.
      if (socket.writableEnded) return
      if (error.code === "ECONNRESET" || !socket.writable) socket.destroy()
      else refuse(socket, parserErrors[error.code ?? ""] ?? malformed, sentId)
    }
    const { latest, open } = connections.get(socket) ?? {}
    if (latest === undefined) return answer()
    if (latest.req.complete) {
      if (open?.has(latest)) latest.once("close", () => answer())
      else answer()
      return
    }
    // The body of the latest request is broken or late. A refusal must be its only answer, and the next that is due;
    // and a GET runs without its body: it may have been charged.
    if (latest.headersSent || open?.size !== 1 || latest.req.method === "GET") socket.destroy()
    else answer(latest.req.headers["x-request-id"])
  })

  server.on("connect", (request: IncomingMessage, socket: Duplex) => {
    socket.on("error", () => socket.destroy()).resume()
    refuse(socket, noTunnel, request.headers["x-request-id"])
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

  const handle = yield* Effect.updateContext(NodeHttpServer.makeHandler(app, { scope }), deep)
  const shed = yield* NodeHttpServer.makeHandler(Effect.andThen(countShed, refusal.app(internalError, {})), { scope })
  const refuseHost = yield* NodeHttpServer.makeHandler(refusal.app(hostMismatch, { connection: "close" }), { scope })

  const server = makeServer(limits)
  const state = track(server, (request, response) => {
    if (!hasOneHost(request)) refuseHost(request, response)
    else if (state.inFlight > limits.maxRequestsInFlight) shed(request, response)
    else handle(request, response)
  })
  refuseUnparsable(server, state, (socket, error, sentId) =>
    run(refusal.onSocket(socket, limits.lingerMs, error, sentId))
  )
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
