import { mkdirSync, writeFileSync } from "node:fs"
import { connect, createServer } from "node:net"

/**
 * Runs the real programs of the npm registry against a Quarry, prints what they made of its answers, and writes the bytes
 * that they sent to `../requests/`, which the tests replay. By hand, because the programs are 140 MB:
 *
 *   npm install --ignore-scripts --no-package-lock   # in this directory
 *   COMPAT=searxng,tavily npm start           # in another terminal, at the top of the repository
 *   npx node test/compat/real/record.mjs http://127.0.0.1:3000 sk_live_…
 */

const [, , base, key] = process.argv
if (base === undefined || !key) throw new Error("give the address of a Quarry and a key")
const upstream = new URL(base)

/** As long as a key, so that the length of a recorded body stays right. */
const stand = `sk_live_${"x".repeat(49)}`

/** @type {Array<Buffer>} */
const seen = []

/** Passes bytes on to Quarry and keeps what came. */
const recorder = createServer((client) => {
  const quarry = connect(Number(upstream.port), upstream.hostname)
  client.on("data", (bytes) => seen.push(bytes)).pipe(quarry)
  quarry.pipe(client)
  client.on("error", () => quarry.destroy())
  quarry.on("error", () => client.destroy())
})

const port = await new Promise((resolve) => {
  recorder.listen(0, "127.0.0.1", () => {
    const address = recorder.address()
    resolve(typeof address === "object" && address !== null ? address.port : 0)
  })
})

const folder = new URL("../requests/", import.meta.url)
mkdirSync(folder, { recursive: true })

const run = async (name, program) => {
  seen.length = 0
  const result = await program().catch((error) => `failed: ${error}`)
  const request = Buffer.concat(seen).toString("latin1").replaceAll(key, stand).replaceAll(`:${port}`, ":3000")
  writeFileSync(new URL(`${name}.http`, folder), request, "latin1")
  console.log(name, JSON.stringify(result, null, 2).slice(0, 600))
}

const compat = `http://127.0.0.1:${port}/compat`
const { SearxngSearch } = await import("@langchain/community/tools/searxng_search")
const { tavily } = await import("@tavily/core")
const { TavilySearch } = await import("@langchain/tavily")

await run("langchain-js-searxng", () =>
  new SearxngSearch({
    apiBase: `${compat}/searxng`,
    params: { format: "json", engines: "google", numResults: 3 },
    headers: { authorization: `Bearer ${key}` }
  }).invoke("http caching")
)
await run("tavily-js", () =>
  tavily({ apiKey: key, apiBaseURL: `${compat}/tavily` }).search("http caching", {
    maxResults: 3,
    country: "germany",
    excludeDomains: ["example.org"]
  })
)
await run("tavily-js-options", () =>
  tavily({ apiKey: key, apiBaseURL: `${compat}/tavily` }).search("http caching", {
    topic: "news",
    startDate: "2020-01-01",
    endDate: "2099-12-31",
    includeDomains: ["example.com"],
    excludeDomains: ["docs.example.com"]
  })
)
await run("langchain-js-searxng-time", () =>
  new SearxngSearch({
    apiBase: `${compat}/searxng`,
    params: { format: "json", time_range: "year", categories: "news" },
    headers: { authorization: `Bearer ${key}` }
  }).invoke("http caching")
)
await run("langchain-js-tavily", () =>
  new TavilySearch({ tavilyApiKey: key, apiBaseUrl: `${compat}/tavily`, maxResults: 3 }).invoke({
    query: "http caching"
  })
)

recorder.close()
process.exit(0)
