import { Agent, request } from "node:http"

/** Has pages read, always as many at once, in a separate process. Its last line of output counts the statuses. */
const {
  atOnce,
  port,
  seconds,
  secrets,
  sitePort
}: {
  readonly port: number
  readonly secrets: ReadonlyArray<string>
  readonly sitePort: string
  readonly seconds: number
  readonly atOnce: number
} = JSON.parse(process.argv[2] ?? "")

const agent = new Agent({ keepAlive: true })
const until = performance.now() + seconds * 1000
const tally: { [outcome: string]: number } = {}
let slowestMs = 0
let asked = 0

/** Every page is new to the cache, and on one of 50 hosts, which are each read a few pages at a time. */
const read = (): Promise<void> =>
  new Promise((resolve) => {
    const n = asked++
    const page = `http://127.0.4.${(n % 50) + 1}:${sitePort}/${n}`
    const startedAt = performance.now()
    const count = (outcome: string): void => {
      tally[outcome] = (tally[outcome] ?? 0) + 1
      slowestMs = Math.max(slowestMs, performance.now() - startedAt)
      resolve()
    }
    request({
      host: "127.0.0.1",
      port,
      agent,
      path: `/v1/page?url=${encodeURIComponent(page)}`,
      headers: { authorization: `Bearer ${secrets[n % secrets.length]}` }
    })
      .on("response", (response) => {
        response.resume().on("end", () => count(String(response.statusCode)))
      })
      .on("error", () => count("no answer"))
      .end()
  })

const keepReading = async (): Promise<void> => {
  while (performance.now() < until) await read()
}

await Promise.all(Array.from({ length: atOnce }, keepReading))
console.log(`${JSON.stringify(tally)}, slowest ${Math.round(slowestMs)} ms`)
agent.destroy()
