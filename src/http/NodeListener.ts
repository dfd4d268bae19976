import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { type AddressInfo, Server as NetServer } from "node:net"
import type { Duplex } from "node:stream"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Context, Deferred, Duration, Effect, type Exit, Fiber, Option, Scope } from "effect"
import { HttpServerError, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { InvalidRequest, NotFound } from "../domain/errors.ts"
import { observe } from "../services/Instrument.ts"
import { Readiness } from "../services/Readiness.ts"
import { breakBody } from "./body.ts"
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

const malformed = InvalidRequest.whole("it is no well-formed HTTP request")
const headersTooLarge = InvalidRequest.whole("its headers are too large")
const tooSlow = InvalidRequest.whole("it did not arrive in time")
const hostMismatch = InvalidRequest.whole("it must have exactly one Host header")
const noTunnel = new NotFound({ message: "This is no proxy: CONNECT is not served." })

const slash = 0x2f

/** What Node's parser and timers refuse, by the code of their error. */
const parserErrors: Readonly<Record<string, InvalidRequest>> = {
  HPE_HEADER_OVERFLOW: headersTooLarge,
  ERR_HTTP_REQUEST_TIMEOUT: tooSlow
}

/**
 * The path and query of a target that names a host too, as they were written. A parser of addresses would resolve dots
 * and cut a fragment, so that another path would be served than the one that was asked for (R3).
 */
const withoutHost = (target: string): string => {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, "")
  return path.startsWith("/") ? path : `/${path}`
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

const takesBody: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"])

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined

interface Connection {
  /** Requests that are not answered yet, in the order of their arrival. */
  readonly open: Set<ServerResponse>
  /** The response to the request that came last, sent or not. */
  latest: ServerResponse | undefined
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

/** Follows connections and the requests on them to their end, and hands requests on to `handle`. */
const track = (server: Server, handle: (request: IncomingMessage, response: ServerResponse) => void) => {
  const state = { connections: new Map<Duplex, Connection>(), inFlight: 0, draining: false }

  server.on("connection", (socket) => {
    state.connections.set(socket, { open: new Set(), latest: undefined })
    socket.once("close", () => state.connections.delete(socket))
  })

  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.url?.charCodeAt(0) !== slash && request.url !== "*") request.url = withoutHost(request.url ?? "")
    // A body that nobody reads would be kept, chunk by chunk, until the answer.
    if (!takesBody.has(request.method ?? "") && hasBody(request)) request.resume()
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

/** What is done with a connection that carries no further request. */
interface Endings {
  readonly refuse: (socket: Duplex, error: InvalidRequest | NotFound, sentId?: unknown) => void
  /** Leaves the client the time to read its answer. */
  readonly close: (socket: Duplex) => void
}

/** Refuses what is no request, or not a whole one: without a listener Node would do so, and without the envelope. */
const refuseUnparsable = (server: Server, { connections }: State, { close, refuse }: Endings): void => {
  const broken = new WeakSet<Duplex>()

  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // The parser complains again of each further piece.
    if (broken.has(socket)) return
    broken.add(socket)
    const refusal = parserErrors[error.code ?? ""] ?? malformed
    const answer = (): void => {
      // Ended already: an answer before said that the connection closes.
      if (socket.writableEnded) return
      if (error.code === "ECONNRESET" || !socket.writable) socket.destroy()
      else refuse(socket, refusal)
    }
    const { latest, open } = connections.get(socket) ?? {}
    if (latest === undefined) return answer()
    const answered = open?.has(latest) !== true
    if (latest.req.complete) return answered ? answer() : void latest.once("close", answer)
    // The body of the latest request is broken or late: its answer is the last one, whatever it is.
    if (answered || error.code === "ECONNRESET") return void socket.destroy()
    latest.shouldKeepAlive = false
    latest.once("close", () => close(socket))
    breakBody(latest.req, refusal)
  })

  server.on("connect", (request: IncomingMessage, socket: Duplex) => {
    socket.on("error", () => socket.destroy()).resume()
    refuse(socket, noTunnel, request.headers["x-request-id"])
  })
}

/**
 * Finds out whether a client that closed its direction still reads, because one that has left looks the same. The first
 * bytes to a connection that is gone bring a reset, the second ones fail, and with them what runs for nobody. An interim
 * response is no part of the answer (RFC 9110, 15.2).
 */
const probeHalfClosed = (server: Server, { connections }: State, later: (then: () => void) => void): void => {
  server.on("connection", (socket) => {
    const probe = (): void => {
      const [response] = connections.get(socket)?.open ?? []
      if (response === undefined || response.headersSent || response.req.httpVersion === "1.0") return
      response.writeProcessing()
    }
    socket.once("end", () =>
      later(() => {
        probe()
        later(probe)
      })
    )
  })
}

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

  const intake = new Intake(limits)
  const handle = yield* NodeHttpServer.makeHandler(counted(app, intake), { scope }).pipe(
    Effect.provideService(CurrentIntake, intake),
    Effect.updateContext(deep)
  )
  const refuseBusy = refusal.app(busy, { "retry-after": String(busyRetrySeconds) })
  const shed = yield* NodeHttpServer.makeHandler(Effect.andThen(countShed, refuseBusy), { scope })
  const refuseHost = yield* NodeHttpServer.makeHandler(refusal.app(hostMismatch, { connection: "close" }), { scope })

  const server = makeServer(limits, new Unread(limits.maxUnreadBytes, () => run(countCut)))
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
