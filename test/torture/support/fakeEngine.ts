import { createServer } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"

/**
 * Stands in for a SearXNG, as a process of its own. The query says how it is answered: `wait80` after 80 ms, `fail`
 * with a 500, `hang` never. Its first line of output is its port.
 */
const row = (engine: string, query: string, n: number) => ({
  url: `https://example.test/${encodeURIComponent(query)}/${n}`,
  title: `Title ${n}`,
  content: `Snippet ${n}`,
  engine,
  engines: [engine]
})

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://engine")
  if (pathname !== "/search") {
    response.writeHead(404).end()
    return
  }
  const query = searchParams.get("q") ?? ""
  const waitMs = Number(/\bwait(\d+)\b/.exec(query)?.[1] ?? 0)
  if (/\bhang\b/.test(query)) return
  if (waitMs > 0) await sleep(waitMs)
  if (/\bfail\b/.test(query)) {
    response.writeHead(500).end()
    return
  }
  const engine = searchParams.get("engines") ?? "google"
  const results = Array.from({ length: 10 }, (_, index) => row(engine, query, index + 1))
  response.writeHead(200, { "content-type": "application/json" })
  response.end(JSON.stringify({ query, results, unresponsive_engines: [] }))
})

server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(typeof address === "object" ? address?.port : "")
})
