import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { InvalidRequest, NotFound } from "../domain/errors.ts"
import { breakBody } from "./body.ts"

/** What becomes of connections: the requests on them, what is no request, and clients that leave. */

const malformed = InvalidRequest.whole("it is no well-formed HTTP request")
const headersTooLarge = InvalidRequest.whole("its headers are too large")
const tooSlow = InvalidRequest.whole("it did not arrive in time")
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

const takesBody: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"])

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined

interface Connection {
  /** Requests that are not answered yet, in the order of their arrival. */
  readonly open: Set<ServerResponse>
  /** The response to the request that came last, sent or not. */
  latest: ServerResponse | undefined
}

/** Follows connections and the requests on them to their end, and hands requests on to `handle`. */
export const track = (server: Server, handle: (request: IncomingMessage, response: ServerResponse) => void) => {
  const state = { connections: new Map<Duplex, Connection>(), inFlight: 0, draining: false }

  server.on("connection", (socket) => {
    state.connections.set(socket, { open: new Set(), latest: undefined })
    socket.once("close", () => state.connections.delete(socket))
  })

  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.url?.charCodeAt(0) !== slash) request.url = withoutHost(request.url ?? "")
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

export type State = ReturnType<typeof track>

/** What is done with a connection that carries no further request. */
interface Endings {
  readonly refuse: (socket: Duplex, error: InvalidRequest | NotFound, sentId?: unknown) => void
  /** Leaves the client the time to read its answer. */
  readonly close: (socket: Duplex) => void
}

/** Refuses what is no request, or not a whole one: without a listener Node would do so, and without the envelope. */
export const refuseUnparsable = (server: Server, { connections }: State, { close, refuse }: Endings): void => {
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
export const probeHalfClosed = (server: Server, { connections }: State, later: (then: () => void) => void): void => {
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
