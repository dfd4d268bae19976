import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { InvalidRequest, NotFound } from "../../domain/errors.ts"
import { failBody } from "../requests/body.ts"

const malformed = InvalidRequest.whole("it is not a well-formed HTTP request")
const headersTooLarge = InvalidRequest.whole("its headers are too large")
const tooSlow = InvalidRequest.whole("it did not arrive in time")
const noTunnel = new NotFound({ message: "This server is not a proxy and does not support CONNECT." })

const slash = 0x2f

const timeoutCode = "ERR_HTTP_REQUEST_TIMEOUT"

const parserErrors: Readonly<Record<string, InvalidRequest>> = {
  HPE_HEADER_OVERFLOW: headersTooLarge,
  [timeoutCode]: tooSlow
}

/** Strips scheme and host (RFC 9112, 3.2.2). A URL parser would resolve dot segments and change the path (R3). */
const withoutHost = (target: string): string => {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, "")
  return path.startsWith("/") ? path : `/${path}`
}

const bodyMethods: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"])

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined

interface Connection {
  /** Unfinished responses in request order. An array, because a `Set` would retain ended ones (`Deadlines`). */
  readonly open: Array<ServerResponse>
  latest: ServerResponse | undefined
}

export interface Connections {
  readonly bySocket: Map<Duplex, Connection>
  inFlight: number
  /** Responses tell clients to reconnect, which leads them to another replica. */
  announcesClose: boolean
  isDraining: boolean
}

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
    // Discards a body that no handler reads. Node would buffer it until the response.
    if (!bodyMethods.has(request.method ?? "") && hasBody(request)) request.resume()
    const connection = connections.bySocket.get(request.socket)
    connection?.open.push(response)
    if (connection !== undefined) connection.latest = response
    if (connections.announcesClose) response.shouldKeepAlive = false
    connections.inFlight++
    response.once("close", () => {
      connection?.open.splice(connection.open.indexOf(response), 1)
      connections.inFlight--
      // Headers sent before the drain did not announce a close, so the client would keep the connection.
      if (connections.isDraining && connection?.open.length === 0) request.socket.destroy()
    })
    handle(request, response, connection?.open.length ?? 1)
  }
  server.on("request", onRequest)
  // Expectations other than 100-continue may be ignored (RFC 9110, 10.1.1). Node's 417 response has no envelope (R3).
  server.on("checkExpectation", onRequest)
  return connections
}

interface ConnectionEnd {
  readonly answer: (
    socket: Duplex,
    error: InvalidRequest | NotFound,
    options: { readonly requestId?: unknown; readonly withoutBody?: boolean }
  ) => void
  readonly close: (socket: Duplex) => void
}

const maxTimeoutsPerTurn = 16

/** Runs a few callbacks per turn, because a thousand late requests at once would block the event loop. */
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

/** Detects HEAD, whose client would parse a body as the start of the next response. */
const isHead = (cause: NodeJS.ErrnoException & { readonly rawPacket?: Buffer }): boolean =>
  cause.rawPacket?.subarray(0, headStart.length).equals(headStart) === true

const headStart = Buffer.from("HEAD ")

/** Responds to unparsable or incomplete requests with the envelope, which Node's own responses lack. */
export const answerUnparsable = (server: Server, { bySocket }: Connections, end: ConnectionEnd): void => {
  const failedSockets = new WeakSet<Duplex>()
  const inTurns = makeTurns()

  server.on("clientError", (cause: NodeJS.ErrnoException, socket) => {
    if (failedSockets.has(socket)) return
    failedSockets.add(socket)
    const error = parserErrors[cause.code ?? ""] ?? malformed
    const answer = (): void => {
      // An earlier response already closed the connection.
      if (socket.writableEnded) return
      if (cause.code === "ECONNRESET" || !socket.writable) socket.destroy()
      else end.answer(socket, error, { withoutBody: isHead(cause) })
    }
    const schedule = cause.code === timeoutCode ? inTurns : (callback: () => void) => callback()
    const { latest, open } = bySocket.get(socket) ?? {}
    if (latest === undefined) return schedule(answer)
    const isFinished = open?.includes(latest) !== true
    if (latest.req.complete) return isFinished ? answer() : void latest.once("close", answer)
    // The latest request's body is broken or late, so its response must be the last on this connection.
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
 * Sends interim responses (RFC 9110, 15.2) to detect clients that disconnected after half-closing. The first one to a
 * closed connection causes a reset and the second fails, which interrupts a request that nobody would read.
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
