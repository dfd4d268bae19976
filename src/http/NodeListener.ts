import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http"
import { type AddressInfo, Server as NetServer } from "node:net"
import type { Duplex } from "node:stream"
import { NodeHttpServer } from "@effect/platform-node"
import { type Context, Deferred, Duration, Effect, Fiber, Option, Scope } from "effect"
import { HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { InvalidRequest, internalError, NotFound } from "../domain/errors.ts"
import { Ids } from "../services/Ids.ts"
import { Readiness } from "../services/Readiness.ts"
import { type Undeclared, undeclared } from "./errors.ts"
import { countDropped, countRefused } from "./metrics.ts"
import { isRequestId, RequestId } from "./RequestId.ts"

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
const refusals: Readonly<Record<string, Undeclared>> = {
  HPE_HEADER_OVERFLOW: headersTooLarge,
  ERR_HTTP_REQUEST_TIMEOUT: tooSlow
}

/** The id that the answer to `request` carries (R2). */
const answerId = (ids: Ids["Service"], sent: unknown): Effect.Effect<string> =>
  typeof sent === "string" && isRequestId(sent) ? Effect.succeed(sent) : ids.requestId

/** The envelope for a request that never reaches the routes, logged and counted as those are that do. */
const refusal = Effect.fnUntraced(function* (ids: Ids["Service"], error: Undeclared, sentId: unknown) {
  const id = yield* answerId(ids, sentId)
  const { body, status } = yield* Effect.provideService(undeclared(error), RequestId, id)
  yield* Effect.logInfo(`Refused a request: ${error.message}`).pipe(Effect.annotateLogs({ request_id: id, status }))
  yield* countRefused(status)
  return { id, status, body }
})

/** Answers every request with `error`. */
const refuseAll = (ids: Ids["Service"], error: Undeclared, headers: Readonly<Record<string, string>>): App =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const { body, id, status } = yield* refusal(ids, error, request.headers["x-request-id"])
    return HttpServerResponse.jsonUnsafe(body, { status, headers: { ...headers, "x-request-id": id } })
  })

/** A request with two hosts is read in two ways by two parties, one of which may be a cache or an access check. */
const hasOneHost = (request: IncomingMessage): boolean => {
  const hosts = request.headersDistinct.host?.length ?? 0
  return hosts === 1 || (hosts === 0 && request.httpVersion === "1.0")
}

interface Connection {
  /** Requests that are not answered yet, in the order of their arrival. */
  readonly open: Set<ServerResponse>
  /** The response to the request that came last, sent or not. */
  latest: ServerResponse | undefined
}

type Connections = Map<Duplex, Connection>

const unused: Connection = { open: new Set(), latest: undefined }

const track = (server: Server, connections: Connections): void => {
  server.on("connection", (socket) => {
    connections.set(socket, { open: new Set(), latest: undefined })
    socket.once("close", () => connections.delete(socket))
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

const makeServer = (limits: ListenerLimits): Server => {
  const server = createServer({
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    // How late the two timeouts above may strike; Node's default of 30 s would double them.
    connectionsCheckingInterval: Math.min(1000, limits.headersTimeoutMs),
    // Node's own refusal has no envelope; `hasOneHost` refuses instead.
    requireHostHeader: false
  })
  server.maxConnections = limits.maxConnections
  server.timeout = limits.inactivityTimeoutMs
  return server
}

/**
 * Serves `app` until the scope closes, then drains: readiness fails first, connections without a request are closed,
 * accepted requests are answered, and what still runs after `drain` is cut off. Every refusal carries the envelope and
 * a request id, also of what never becomes a request. `NodeHttpServer.layer` is not used, because its shutdown leaves
 * connections open that were busy or unused when it began, and it answers upgrades and expectations by itself.
 */
export const serve = Effect.fnUntraced(function* (app: App, options: ListenerOptions) {
  const { limits } = options
  const ids = yield* Ids
  const readiness = yield* Readiness
  const scope = yield* Scope.fork(yield* Effect.scope, "parallel")
  const run = runIn(yield* Effect.context<never>(), scope)
  const handle = yield* NodeHttpServer.makeHandler(app, { scope })
  const shed = yield* NodeHttpServer.makeHandler(refuseAll(ids, internalError, {}), { scope })
  const refuseHost = yield* NodeHttpServer.makeHandler(refuseAll(ids, hostMismatch, { connection: "close" }), { scope })

  const server = makeServer(limits)
  const connections: Connections = new Map()
  let inFlight = 0
  let draining = false
  track(server, connections)

  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const connection = connections.get(request.socket)
    connection?.open.add(response)
    if (connection !== undefined) connection.latest = response
    inFlight++
    response.once("close", () => {
      connection?.open.delete(response)
      inFlight--
      // An answer whose headers were sent before the drain began has not announced the close.
      if (draining && connection?.open.size === 0) request.socket.destroy()
    })
    if (!hasOneHost(request)) refuseHost(request, response)
    else if (inFlight > limits.maxRequestsInFlight) shed(request, response)
    else handle(request, response)
  }

  /** Answers on a bare socket, and destroys it a moment later: at once, what was sent could be lost to a reset. */
  const refuseSocket = Effect.fnUntraced(function* (socket: Duplex, error: Undeclared, sentId?: unknown) {
    const { body, id, status } = yield* refusal(ids, error, sentId)
    socket.end(toMessage(status, id, JSON.stringify(body)))
    yield* Effect.sleep(limits.lingerMs)
    socket.destroy()
  })

  const refuseBytes = (error: NodeJS.ErrnoException, socket: Duplex, sentId?: unknown): void => {
    // Ended already: an answer before said that the connection closes.
    if (socket.writableEnded) return
    if (error.code === "ECONNRESET" || !socket.writable) socket.destroy()
    else run(refuseSocket(socket, refusals[error.code ?? ""] ?? malformed, sentId))
  }

  const broken = new WeakSet<Duplex>()

  const onClientError = (error: NodeJS.ErrnoException, socket: Duplex): void => {
    // The parser complains again of each further piece.
    if (broken.has(socket)) return
    broken.add(socket)
    const { latest, open } = connections.get(socket) ?? unused
    if (latest?.req.complete === false) {
      // Its own bytes are broken or late. Answered already, or with others before it, it can only be cut off.
      if (latest.headersSent || open.size > 1) socket.destroy()
      else refuseBytes(error, socket, latest.req.headers["x-request-id"])
    } else if (latest !== undefined && open.has(latest)) {
      latest.once("close", () => refuseBytes(error, socket))
    } else refuseBytes(error, socket)
  }

  const onConnect = (request: IncomingMessage, socket: Duplex): void => {
    socket.on("error", () => socket.destroy()).resume()
    run(refuseSocket(socket, noTunnel, request.headers["x-request-id"]))
  }

  const closed = yield* Deferred.make<void>()

  const stopAccepting = Effect.sync(() => {
    draining = true
    // Not the HTTP server's own `close`: it cuts off answers that are not flushed yet, and stops its timeouts, so that
    // one slow sender would hold the drain to its end.
    NetServer.prototype.close.call(server, () => Deferred.doneUnsafe(closed, Effect.void))
    for (const [socket, { latest, open }] of connections) {
      if (open.size === 0) socket.destroy()
      else if (latest !== undefined) latest.shouldKeepAlive = false
    }
  })

  const drain = Effect.gen(function* () {
    yield* readiness.setListener("draining")
    yield* stopAccepting
    const ended = yield* Effect.timeoutOption(Effect.interruptible(Deferred.await(closed)), options.drain)
    if (Option.isNone(ended)) {
      yield* Effect.logWarning(`Cutting off ${inFlight} requests after ${Duration.format(options.drain)}`)
      for (const socket of connections.keys()) socket.destroy()
      yield* Deferred.await(closed)
    }
    // Nothing is open any more: this ends its timers.
    server.close()
  })

  server.on("request", onRequest)
  // Any expectation but 100-continue may be ignored (RFC 9110, 10.1.1), and Node's 417 is not ours (R3).
  server.on("checkExpectation", onRequest)
  server.on("clientError", onClientError)
  server.on("connect", onConnect)
  server.on("drop", () => run(countDropped))
  const address = yield* listen(server, options)
  yield* Effect.addFinalizer(() => drain)
  yield* readiness.setListener("serving")
  return address
})

/** Starts effects of callbacks; the scope ends those that outlive it. */
const runIn = (context: Context.Context<never>, scope: Scope.Scope) => {
  const fork = Effect.runForkWith(context)
  return (effect: Effect.Effect<void>): void => {
    Fiber.runIn(fork(effect), scope)
  }
}

const toMessage = (status: number, id: string, body: string): string =>
  [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${id}`,
    "connection: close",
    "",
    body
  ].join("\r\n")
