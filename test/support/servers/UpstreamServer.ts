import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { text as readText } from "node:stream/consumers"
import { Effect } from "effect"

/** A request that the fake upstream received. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export type Answer = (received: Received, response: ServerResponse) => void

export const json =
  (body: unknown, status = 200, headers?: Record<string, string>): Answer =>
  (_, response) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))

export const text =
  (body: string, status: number, headers?: Record<string, string>): Answer =>
  (_, response) =>
    response.writeHead(status, { "content-type": "text/html; charset=utf-8", ...headers }).end(body)

export interface Upstream {
  readonly url: string
  readonly received: Array<Received>
  /** Number of requests that are neither answered nor disconnected. */
  readonly open: () => number
  readonly close: Effect.Effect<void>
}

/** An HTTP server on a free loopback port, closed with the scope, that records requests. */
export const serve = (respond: Answer) =>
  Effect.acquireRelease(
    Effect.callback<Upstream>((resume) => {
      const received: Array<Received> = []
      let open = 0
      const server = createServer(async (request, response) => {
        open += 1
        response.on("close", () => {
          open -= 1
        })
        const url = new URL(request.url ?? "/", "http://loopback")
        const seen = {
          method: request.method ?? "",
          path: url.pathname,
          query: url.searchParams,
          headers: request.headers,
          body: await readText(request)
        }
        received.push(seen)
        respond(seen, response)
      })
      const close = Effect.callback<void>((closed) => {
        server.close(() => closed(Effect.void))
        server.closeAllConnections()
      })
      server.listen(0, "127.0.0.1", () => {
        // A listening TCP server's address is an AddressInfo.
        const { port } = server.address() as AddressInfo
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, received, open: () => open, close }))
      })
    }),
    ({ close }) => close
  )
