import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { InvalidRequest, NotFound } from "../../domain/errors.ts"
import { failBody } from "../body.ts"

/** Connections of the listener: their requests, bytes that are no request, and clients that disconnect. */

const malformed = InvalidRequest.whole("it is no well-formed HTTP request")
const headersTooLarge = InvalidRequest.whole("its headers are too large")
const tooSlow = InvalidRequest.whole("it did not arrive in time")
const noTunnel = new NotFound({ message: "This is no proxy: CONNECT is not served." })

const slash = 0x2f

const timeoutCode = "ERR_HTTP_REQUEST_TIMEOUT"

/** The API's errors for the codes of Node's parser and timers. Any other code is `malformed`. */
const parserErrors: Readonly<Record<string, InvalidRequest>> = {
  HPE_HEADER_OVERFLOW: headersTooLarge,
  [timeoutCode]: tooSlow
}

/**
 * Cuts scheme and host off a request target in absolute form (RFC 9112, 3.2.2). A URL parser would resolve dot segments
 * and drop the fragment, so that another path would match than the one that was sent (R3).
 */
const withoutHost = (target: string): string => {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, "")
  return path.startsWith("/") ? path : `/${path}`
}

/** Methods whose handlers may read a body. */
const bodyMethods: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"])

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined

interface Connection {
  /** Responses that are not finished, in the order of their requests. A `Set` would keep ended ones (`Deadlines`). */
  readonly open: Array<ServerResponse>
  /** The response to the latest request, sent or not. */
  latest: ServerResponse | undefined
}

export interface Connections {
  readonly bySocket: Map<Duplex, Connection>
  /** Requests on all connections whose responses are not finished. */
  inFlight: number
  /** Responses ask clients to open another connection, which leads to another replica. */
  announcesClose: boolean
  isDraining: boolean
}

/**
 * Records every connection and the requests on it until they end. Hands each request to `handle`, with the number of
 * unfinished responses on its connection, its own included.
 */
export const trackConnections = (
  server: Server,
  handle: (request: IncomingMessage, response: ServerResponse, openOnConnection: number) => void
): Connections => {
  const connections: Connections = { bySocket: new Map(), inFlight: 0, announcesClose: false, isDraining: false }

  server.on("connection", (socket) => {
    connections.bySocket.set(socket, { open: [], latest: undefined })
    socket.once("close", () => connections.bySocket.delete(socket))
  })

  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.url?.charCodeAt(0) !== slash) request.url = withoutHost(request.url ?? "")
    // Discards a body that no handler reads: Node would buffer it until the response.
    if (!bodyMethods.has(request.method ?? "") && hasBody(request)) request.resume()
    const connection = connections.bySocket.get(request.socket)
    connection?.open.push(response)
    if (connection !== undefined) connection.latest = response
    if (connections.announcesClose) response.shouldKeepAlive = false
    connections.inFlight++
    response.once("close", () => {
      connection?.open.splice(connection.open.indexOf(response), 1)
      connections.inFlight--
      // Headers that were sent before the drain began announced no close, so the client would keep the connection.
      if (connections.isDraining && connection?.open.length === 0) request.socket.destroy()
    })
    handle(request, response, connection?.open.length ?? 1)
  }
  server.on("request", onRequest)
  // Any expectation but 100-continue may be ignored (RFC 9110, 10.1.1), and Node's 417 is not ours (R3).
  server.on("checkExpectation", onRequest)
  return connections
}

/** The two ways to end a connection on which no further request can arrive. */
interface ConnectionEnd {
  readonly answer: (
    socket: Duplex,
    error: InvalidRequest | NotFound,
    options: { readonly requestId?: unknown; readonly withoutBody?: boolean }
  ) => void
  /** Leaves the client time to read the response. */
  readonly close: (socket: Duplex) => void
}

const maxTimeoutsPerTurn = 16

/**
 * Makes a function that runs callbacks in order, a few in each turn of the event loop. Node finds all requests that are
 * late in one turn: a thousand of them, answered at once, would keep everybody else waiting for half a second.
 */
const makeTurns = (): ((callback: () => void) => void) => {
  const waiting: Array<() => void> = []
  const runSome = (): void => {
    for (const callback of waiting.splice(0, maxTimeoutsPerTurn)) callback()
    if (waiting.length > 0) setImmediate(runSome)
  }
  return (callback) => {
    waiting.push(callback)
    if (waiting.length === 1) setImmediate(runSome)
  }
}

/** True where unparsable bytes begin as a HEAD request: its client takes a body for the begin of another response. */
const isHead = (cause: NodeJS.ErrnoException & { readonly rawPacket?: Buffer }): boolean =>
  cause.rawPacket?.subarray(0, headStart.length).equals(headStart) === true

const headStart = Buffer.from("HEAD ")

/** Answers bytes that are no request, or only part of one, with the envelope. Node's own answer has none. */
export const answerUnparsable = (server: Server, { bySocket }: Connections, end: ConnectionEnd): void => {
  const failedSockets = new WeakSet<Duplex>()
  const inTurns = makeTurns()

  server.on("clientError", (cause: NodeJS.ErrnoException, socket) => {
    // The parser fails again with each further chunk.
    if (failedSockets.has(socket)) return
    failedSockets.add(socket)
    const error = parserErrors[cause.code ?? ""] ?? malformed
    const answer = (): void => {
      // An earlier response has announced the close and ended the socket.
      if (socket.writableEnded) return
      if (cause.code === "ECONNRESET" || !socket.writable) socket.destroy()
      else end.answer(socket, error, { withoutBody: isHead(cause) })
    }
    const schedule = cause.code === timeoutCode ? inTurns : (callback: () => void) => callback()
    const { latest, open } = bySocket.get(socket) ?? {}
    if (latest === undefined) return schedule(answer)
    const isFinished = open?.includes(latest) !== true
    if (latest.req.complete) return isFinished ? answer() : void latest.once("close", answer)
    // The body of the latest request is broken or late, so that its response is the last on this connection.
    if (isFinished || cause.code === "ECONNRESET") return void socket.destroy()
    latest.shouldKeepAlive = false
    latest.once("close", () => end.close(socket))
    schedule(() => failBody(latest.req, error))
  })

  server.on("connect", (request: IncomingMessage, socket: Duplex) => {
    socket.on("error", () => socket.destroy()).resume()
    end.answer(socket, noTunnel, { requestId: request.headers["x-request-id"] })
  })
}

/**
 * Detects that a client which half-closed its connection has left, by sending it interim responses (RFC 9110, 15.2).
 * The first one to a closed connection brings a reset, and the second one then fails. That interrupts the request,
 * which would otherwise run although nobody reads its response.
 */
export const probeHalfClosed = (
  server: Server,
  { bySocket }: Connections,
  schedule: (callback: () => void) => void
): void => {
  server.on("connection", (socket) => {
    const probe = (): void => {
      const [response] = bySocket.get(socket)?.open ?? []
      if (response === undefined || response.headersSent || response.req.httpVersion === "1.0") return
      response.writeProcessing()
    }
    socket.once("end", () =>
      schedule(() => {
        probe()
        schedule(probe)
      })
    )
  })
}
