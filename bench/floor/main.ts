import { randomBytes, randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { LogEntry } from "../../src/domain/log/LogEntry.ts"
import type { Ranking } from "../../src/domain/search/Ranking.ts"
import { type Caller, makeKeys } from "./Keys.ts"
import { makeLedger, type Reserved } from "./Ledger.ts"
import { settings } from "./Settings.ts"
import { type Decision, makeSharedState } from "./SharedState.ts"
import { makeUpstream } from "./Upstream.ts"

/*
 * The lowest possible cost of a search: Quarry's round trips with Quarry's statements, scripts, batches, HTTP client,
 * ranking and responses, and nothing else. It validates, logs and measures nothing, has no limits and no deadlines, and
 * supports only the benchmark's requests.
 */

const identify = await makeKeys(settings.databaseUrl, settings.keyPepper)
const ledger = await makeLedger(settings.databaseUrl)
const shared = await makeSharedState(settings.redisUrl)
const askUpstream = makeUpstream(settings.searxngUrl)

const makeId = (prefix: string): string => prefix + randomBytes(16).toString("hex")

type Headers = Record<string, string | number>

const headersOf = (requestId: string): Headers => ({
  "content-type": "application/json",
  "x-request-id": requestId,
  "x-content-type-options": "nosniff",
  "cache-control": "no-store"
})

const addLimit = (headers: Headers, { limit, remaining, resetAt, retryAfter }: Decision): void => {
  headers["x-ratelimit-limit"] = limit
  headers["x-ratelimit-remaining"] = remaining
  headers["x-ratelimit-reset"] = resetAt
  headers["ratelimit-policy"] = `"minute";q=${limit};w=60`
  headers.ratelimit = `"minute";r=${remaining};t=${retryAfter}`
}

const addQuota = (headers: Headers, before: Reserved, creditsUsed: number, balance: string): void => {
  headers["x-credits-used"] = creditsUsed
  headers["x-quota-limit"] = before.quota
  headers["x-quota-used"] = before.used
  headers["x-quota-remaining"] = Number(before.quota) - Number(before.used)
  headers["x-credits-balance"] = balance
  headers["x-quota-reset"] = Math.ceil(before.period_end.getTime() / 1000)
}

const send = (response: ServerResponse, status: number, headers: Headers, body: string): void => {
  headers["content-length"] = Buffer.byteLength(body)
  response.writeHead(status, headers).end(body)
}

const sendError = (response: ServerResponse, status: number, headers: Headers, error: object): void =>
  send(response, status, headers, JSON.stringify({ ...error, request_id: headers["x-request-id"] }))

/** Returns the caller of an admitted request. Responds to all other requests itself. */
const admit = async (request: IncomingMessage, response: ServerResponse, headers: Headers) => {
  const caller = await identify(request.headers.authorization)
  if (caller === undefined) {
    headers["www-authenticate"] = 'Bearer realm="quarry", error="invalid_token"'
    const message = "No accepted credential was sent with this request."
    return sendError(response, 401, headers, { error: "unauthorized", message })
  }
  const decision = await shared.hit(caller.keyId, caller.concurrency * 60)
  addLimit(headers, decision)
  if (decision.admitted) return caller
  headers["retry-after"] = decision.retryAfter
  const message = `The limit of ${decision.limit} requests per minute is spent. Try again in ${decision.retryAfter} s.`
  return sendError(response, 429, headers, { error: "rate_limited", message })
}

const refuseQuota = (response: ServerResponse, headers: Headers, credits: number, before: Reserved): void => {
  addQuota(headers, before, 0, before.balance)
  const [quota, used, balance] = [Number(before.quota), Number(before.used), Number(before.balance)]
  sendError(response, 402, headers, {
    error: "quota_exceeded",
    message: `This needs ${credits} credit(s); ${quota - used} of the quota and ${balance} pack credits are left.`,
    plan: before.plan,
    quota,
    credits_used: used,
    remaining: quota - used,
    balance,
    resets_at: before.period_end.toISOString()
  })
}

interface Place {
  readonly batchId: string | undefined
  readonly rowIndex: number | undefined
  readonly requestId: string
}

interface Ran {
  readonly ranking: Ranking
  readonly entry: LogEntry
}

const run = async ({ accountId, keyId }: Caller, query: string, place: Place): Promise<Ran> => {
  const startedAt = Date.now()
  const kept = await shared.get(query)
  const ranking = kept ?? (await askUpstream(query))
  if (kept === undefined) shared.set(query, ranking)
  const entry: LogEntry = {
    id: makeId("qry_"),
    ...place,
    accountId,
    keyId,
    request: {
      target: "alpha_search",
      query,
      geo: "us",
      locale: "en-us",
      page: 1,
      num: 10,
      safe: "off",
      source: "api"
    },
    outcome: "ok",
    credits: 1,
    cached: kept !== undefined,
    provider: "stub/google",
    resultCount: ranking.count,
    durationMs: Date.now() - startedAt,
    refusals: []
  }
  return { ranking, entry }
}

const toJson = ({ entry: { id, request }, ranking }: Ran, before = ""): string =>
  `{${before}"id":"${id}","target":"${request.target}","query":${JSON.stringify(request.query)},"geo":"${request.geo}",` +
  `"locale":"${request.locale}","page":${request.page},"results":{"organic":${ranking.json}}}`

const serveQuery = async (response: ServerResponse, headers: Headers, caller: Caller, query: string, place: Place) => {
  const holdId = makeId("hld_")
  const before = await ledger.reserve({ holdId, accountId: caller.accountId, credits: 1 })
  if (before.status !== "held") return refuseQuota(response, headers, 1, before)
  const ran = await run(caller, query, place)
  const { balance } = await ledger.settle({ holdId, accountId: caller.accountId, entries: [ran.entry] })
  addQuota(headers, before, 1, balance)
  send(response, 200, headers, toJson(ran))
}

const bodyOf = async (request: IncomingMessage): Promise<{ readonly queries: ReadonlyArray<string> }> => {
  const pieces: Array<Buffer> = []
  for await (const piece of request) pieces.push(piece)
  return JSON.parse(Buffer.concat(pieces).toString())
}

const serveBatch = async (
  response: ServerResponse,
  headers: Headers,
  caller: Caller,
  queries: ReadonlyArray<string>,
  place: Place
) => {
  const [holdId, batchId, credits] = [makeId("hld_"), makeId("bat_"), queries.length]
  const before = await ledger.reserve({ holdId, accountId: caller.accountId, credits })
  if (before.status !== "held") return refuseQuota(response, headers, credits, before)
  // Runs all rows concurrently, like Quarry for a caller with the benchmark's concurrency.
  const rows = await Promise.all(queries.map((query, rowIndex) => run(caller, query, { ...place, batchId, rowIndex })))
  const entries = rows.map(({ entry }) => entry)
  const { balance } = await ledger.settle({ holdId, accountId: caller.accountId, entries })
  addQuota(headers, before, credits, balance)
  const results = rows.map((row) => toJson(row, '"status":"ok",')).join(",")
  const counts = `"batch_id":"${batchId}","total":${credits},"succeeded":${credits},"failed":0`
  send(response, 200, headers, `{${counts},"results":[${results}]}`)
}

const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const requestId = randomUUID()
  const headers = headersOf(requestId)
  const caller = await admit(request, response, headers)
  if (caller === undefined) return
  const place: Place = { batchId: undefined, rowIndex: undefined, requestId }
  if (request.method === "POST") {
    return serveBatch(response, headers, caller, (await bodyOf(request)).queries, place)
  }
  const url = request.url ?? ""
  const query = new URLSearchParams(url.slice(url.indexOf("?") + 1)).get("query") ?? ""
  return serveQuery(response, headers, caller, query, place)
}

createServer((request, response) => void serve(request, response)).listen(settings.port, "127.0.0.1")
