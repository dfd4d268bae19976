import { randomUUID } from "node:crypto"
import { Agent, request as send } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import autocannon from "autocannon"
import type { Closed, Job, Outcome, Paced, Traced } from "./Job.ts"
import { makeTally } from "./Tally.ts"

/*
 * The load generator, in its own process so that its CPU time is counted separately. It runs for the whole benchmark,
 * so that its code is already compiled. It takes jobs from its parent one at a time and sends back their outcomes.
 */

/** Counts over all jobs, so that no query is repeated. */
let asked = 0

/** A search as the official MCP clients send it. */
const toolCall = (protocol: string, query: string, headers: Record<string, string>) => {
  headers["content-type"] = "application/json"
  headers.accept = "application/json, text/event-stream"
  headers["mcp-protocol-version"] = protocol
  const params = { name: "web_search", arguments: { query } }
  if (protocol < "2026-07-28") {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params })
    return { method: "POST" as const, path: "/mcp", headers, body }
  }
  headers["mcp-method"] = "tools/call"
  headers["mcp-name"] = "web_search"
  const meta = {
    "io.modelcontextprotocol/protocolVersion": protocol,
    "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {}
  }
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...params, _meta: meta } })
  return { method: "POST" as const, path: "/mcp", headers, body }
}

const nextRequest = (job: Job) => {
  const number = asked++
  const name = () => (job.distinct ? `${job.query} ${asked++}` : job.query)
  const secret = job.secrets[number % job.secrets.length]
  const headers: Record<string, string> = secret === undefined ? {} : { authorization: `Bearer ${secret}` }
  if (job.keyed === true) headers["idempotency-key"] = randomUUID()
  if (job.protocol !== undefined) return toolCall(job.protocol, name(), headers)
  if (job.rows === undefined) {
    return { method: "GET" as const, path: `/v1/query?query=${encodeURIComponent(name())}`, headers, body: undefined }
  }
  headers["content-type"] = "application/json"
  const body = JSON.stringify({ queries: Array.from({ length: job.rows }, name) })
  return { method: "POST" as const, path: "/v1/bulk", headers, body }
}

/** The fields that autocannon's client checks before each request to limit how many it sends. */
interface Bounded {
  responseMax: number
  readonly reqsMade: number
}

const traceIdIn = /^00-([0-9a-f]{32})-/

/** Notes each response of a client that names its trace. */
const trace = (client: autocannon.Client, traces: Array<Traced>): void => {
  let traceId: string | undefined
  client.on("headers", ({ headers }) => {
    // The parser lists names and values in turn, unlike the declared type.
    const list = headers as unknown as ReadonlyArray<string>
    traceId = traceIdIn.exec(list[list.indexOf("traceresponse") + 1] ?? "")?.[1]
  })
  client.on("response", (_status, _bytes, latencyMs) => {
    const receivedAt = performance.timeOrigin + performance.now()
    if (traceId !== undefined) traces.push({ traceId, sentAt: receivedAt - latencyMs, receivedAt })
  })
}

/** Lets each client finish. autocannon itself would cut off requests in flight, which are charged but not counted. */
const closed = async (job: Job, { connections }: Closed): Promise<Outcome> => {
  const tally = makeTally()
  const clients: Array<Bounded> = []
  const traces: Array<Traced> = []
  const options = {
    connections,
    duration: job.seconds + 60,
    sampleInt: 100,
    timeout: 60,
    requests: [{ setupRequest: (request: autocannon.Request) => Object.assign(request, nextRequest(job)) }],
    setupClient: (client: autocannon.Client) => {
      // The cast adds two fields that autocannon's client type does not declare.
      clients.push(client as unknown as Bounded)
      if (job.traced === true) trace(client, traces)
    }
  } satisfies Partial<autocannon.Options>
  // autocannon accepts several addresses according to its documentation, but not its type.
  const run = autocannon({ ...options, url: job.urls as unknown as string }, () => {})
  run.on("response", (_client, status, _bytes, latencyMs) => tally.answered(status, latencyMs))
  run.on("reqError", tally.failed)
  const done = new Promise<void>((resolve) => run.on("done", () => resolve()))
  await sleep(job.seconds * 1000)
  for (const client of clients) client.responseMax = client.reqsMade
  await done
  return { ...tally.outcome(), ...(job.traced === true ? { traces } : {}) }
}

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

const exchange = (job: Job): Promise<number> =>
  new Promise((resolve, reject) => {
    const { body, headers, method, path } = nextRequest(job)
    const request = send(`${job.urls[0]}${path}`, { agent, method, headers })
    request.on("error", reject).on("response", (response) => {
      response.on("end", () => resolve(response.statusCode ?? 0)).on("error", reject)
      response.resume()
    })
    request.end(body)
  })

/** Busy-waits for the last part before a request, because timers are late by up to a millisecond. */
const until = async (moment: number): Promise<void> => {
  const ahead = moment - performance.now()
  if (ahead > 2) await sleep(ahead - 2)
  while (performance.now() < moment) await new Promise<void>((resolve) => setImmediate(resolve))
}

const paced = async (job: Job, { perSecond }: Paced): Promise<Outcome> => {
  const tally = makeTally()
  const startsAt = performance.now()
  const inFlight: Array<Promise<void>> = []
  for (let number = 0; number < perSecond * job.seconds; number++) {
    const moment = startsAt + (number * 1000) / perSecond
    await until(moment)
    inFlight.push(exchange(job).then((status) => tally.answered(status, performance.now() - moment), tally.failed))
  }
  await Promise.all(inFlight)
  return tally.outcome()
}

process.on("message", async (job: Job) => {
  const outcome = job.shape.kind === "closed" ? closed(job, job.shape) : paced(job, job.shape)
  process.send?.(await outcome)
})
