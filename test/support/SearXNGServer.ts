import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"

/** A request as the stand-in for a SearXNG instance received it. */
export interface Received {
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
}

export type Answer = (received: Received, response: ServerResponse) => void

/** A row as the JSON API gives it. */
export const row = (n: number, engine = "google") => ({
  url: `https://example.test/${n}`,
  title: `Title ${n}`,
  content: `Snippet ${n}`,
  engine,
  engines: [engine],
  positions: [n],
  score: 1 / n,
  category: "general",
  template: "default.html",
  parsed_url: ["https", "example.test", `/${n}`, "", "", ""]
})

export const rows = (first: number, last: number, engine?: string) =>
  Array.from({ length: last - first + 1 }, (_, index) => row(first + index, engine))

/** A whole answer of the JSON API; a test names only what it is about. */
export const answer = (fields: Record<string, unknown>) => ({
  query: "q",
  results: [],
  answers: [],
  corrections: [],
  infoboxes: [],
  suggestions: [],
  unresponsive_engines: [],
  ...fields
})

export const json =
  (body: unknown, status = 200): Answer =>
  (_, response) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))

export const text =
  (body: string, status: number, headers?: Record<string, string>): Answer =>
  (_, response) =>
    response.writeHead(status, { "content-type": "text/html; charset=utf-8", ...headers }).end(body)

/** An HTTP server on a free port of the loopback, closed with the scope, and what it received. */
export const serve = (respond: Answer) =>
  Effect.acquireRelease(
    Effect.callback<{
      readonly url: string
      readonly received: Array<Received>
      readonly close: Effect.Effect<void>
    }>((resume) => {
      const received: Array<Received> = []
      const server = createServer((request, response) => {
        const url = new URL(request.url ?? "/", "http://loopback")
        const seen = { path: url.pathname, query: url.searchParams, headers: request.headers }
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
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, received, close }))
      })
    }),
    ({ close }) => close
  )
