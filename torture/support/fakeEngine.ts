import { createServer } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"

/**
 * A fake SearXNG in a separate process. The query controls the response: `wait80` after 80 ms, `fail` a 500, `hang`
 * none, `large` 1 MB, `many` a SerpApi response with more rows than a call takes arguments, `deep` an OpenSERP error
 * nested deeper than the stack. Its first line of output is its port.
 */
const row = (engine: string, query: string, n: number) => ({
  url: `https://example.test/${encodeURIComponent(query)}/${n}`,
  title: `Title ${n}`,
  content: `Snippet ${n}`,
  engine,
  engines: [engine]
})

/** A row of 100 kB, in fields that a search does not need to be long. */
const large = (row: object, query: string, n: number) => ({
  ...row,
  url: `https://example.test/${encodeURIComponent(query)}/${n}?${"u".repeat(60_000)}`,
  title: `Title ${n} ${"t".repeat(10_000)}`,
  content: `Snippet ${n} ${"s".repeat(10_000)}`,
  engines: Array.from({ length: 20 }, (_, index) => `${index}${"e".repeat(1000)}`)
})

const manyRows = `{"organic_results":[${Array.from({ length: 174_000 }, () => '{"link":""}')}]}`

const deepNesting = 100_000
const deepError = `{"results":[],"meta":{"engines_failed":["google"],"engine_errors":${"[".repeat(deepNesting)}${"]".repeat(deepNesting)}}}`

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://engine")
  if (!/\/search(?:\.json)?$/.test(pathname)) {
    response.writeHead(404).end()
    return
  }
  const query = searchParams.get("q") ?? searchParams.get("text") ?? ""
  const waitMs = Number(/\bwait(\d+)\b/.exec(query)?.[1] ?? 0)
  if (/\bhang\b/.test(query)) return
  if (waitMs > 0) await sleep(waitMs)
  if (/\bfail\b/.test(query)) {
    response.writeHead(500).end()
    return
  }
  const engine = searchParams.get("engines") ?? "google"
  const shape = /\blarge\b/.test(query) ? large : (it: object) => it
  const results = Array.from({ length: 10 }, (_, index) => shape(row(engine, query, index + 1), query, index + 1))
  response.writeHead(200, { "content-type": "application/json" })
  if (/\bmany\b/.test(query)) return void response.end(manyRows)
  if (/\bdeep\b/.test(query)) return void response.end(deepError)
  response.end(JSON.stringify({ query, results, unresponsive_engines: [] }))
})

server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(typeof address === "object" ? address?.port : "")
})
