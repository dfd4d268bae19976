import { randomBytes, randomUUID } from "node:crypto"
import Fastify, { type FastifyReply, type FastifyRequest, LogController } from "fastify"
import { Redis } from "ioredis"
import { Pool } from "pg"
import { rank } from "../../src/domain/search/Organic.ts"
import type { OrganicResult } from "../../src/domain/search/OrganicResult.ts"
import { makeCache } from "./Cache.ts"
import { type Caller, makeKeys } from "./Keys.ts"
import * as Ledger from "./Ledger.ts"
import { makeLimiter } from "./Limiter.ts"
import { parseSearch, type Refused, type Search } from "./Search.ts"
import { settings } from "./Settings.ts"
import { makeUpstream } from "./Upstream.ts"

/*
 * The search API as a careful engineer would write it by hand: Fastify, pg and ioredis, one statement at a time. It does
 * the same work as Quarry for a search, so that Quarry can be compared with it.
 */

const pool = new Pool({ connectionString: settings.databaseUrl, max: settings.poolSize, keepAlive: true })
// Sends the commands of one tick in a single write.
const redis = new Redis(settings.redisUrl, { enableAutoPipelining: true })

const app = Fastify({
  logger: { level: "info" },
  // The request log below writes one line per request. Fastify would write two.
  logController: new LogController({ disableRequestLogging: true }),
  bodyLimit: 1_048_576,
  genReqId: (request) => {
    const given = request.headers["x-request-id"]
    return typeof given === "string" && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(given)
      ? given
      : randomUUID()
  }
})

const complain = (error: unknown) => app.log.error(error)
pool.on("error", complain)
redis.on("error", complain)

const keys = makeKeys(pool, settings.keyPepper)
const limit = makeLimiter(redis)
const ledger = settings.ledger === "statements" ? Ledger.statements(pool) : Ledger.transactions(pool)
const cache = makeCache(redis, complain)
const askUpstream = makeUpstream(settings.searxngUrl)
const sweeper = Ledger.startSweeper(pool, complain)

const makeId = (prefix: string): string => prefix + randomBytes(16).toString("hex")

app.decorateRequest("caller", null)
declare module "fastify" {
  interface FastifyRequest {
    caller: Caller | null
  }
}

const refuse = (request: FastifyRequest, reply: FastifyReply, status: number, refused: Refused) =>
  reply.code(status).send({ ...refused, request_id: request.id })

app.addHook("onRequest", async (request, reply) => {
  reply.headers({ "x-request-id": request.id, "x-content-type-options": "nosniff", "cache-control": "no-store" })
})

app.addHook("onResponse", async (request, reply) => {
  request.log.info({
    method: request.method,
    path: request.url.split("?", 1)[0],
    status: reply.statusCode,
    duration_ms: Math.round(reply.elapsedTime)
  })
})

app.setErrorHandler((error: Error & { readonly statusCode?: number }, request, reply) => {
  if (error.statusCode !== undefined && error.statusCode < 500) {
    const issues = [{ field: "", message: "the body must be JSON of at most 1 MiB" }]
    return refuse(request, reply, 400, { error: "invalid_request", message: "The body cannot be read.", issues })
  }
  request.log.error(error)
  return refuse(request, reply, 500, { error: "internal_error", message: "Something went wrong on our side." })
})

app.setNotFoundHandler((request, reply) =>
  refuse(request, reply, 404, { error: "not_found", message: "There is nothing at this address." })
)

const admit = async (request: FastifyRequest, reply: FastifyReply) => {
  const caller = await keys.authenticate(request.headers.authorization)
  if (caller === undefined) {
    return refuse(request, reply, 401, { error: "unauthorized", message: "No accepted credential." })
  }
  request.caller = caller
  const decision = await limit(caller.keyId, caller.concurrency * 60)
  reply.headers({
    "x-ratelimit-limit": decision.limit,
    "x-ratelimit-remaining": decision.remaining,
    "x-ratelimit-reset": decision.resetAt,
    "ratelimit-policy": `"minute";q=${decision.limit};w=60`,
    ratelimit: `"minute";r=${decision.remaining};t=${decision.retryAfter}`
  })
  if (!decision.admitted) {
    reply.header("retry-after", decision.retryAfter)
    return refuse(request, reply, 429, { error: "rate_limited", message: "The limit of requests per minute is spent." })
  }
}

const quotaHeaders = (reply: FastifyReply, account: Ledger.Exceeded, creditsUsed: number, balance: number) =>
  reply.headers({
    "x-credits-used": creditsUsed,
    "x-quota-limit": account.quota,
    "x-quota-used": account.used,
    "x-quota-remaining": account.quota - account.used,
    "x-credits-balance": balance,
    "x-quota-reset": Math.ceil(account.resetsAt / 1000)
  })

const refuseQuota = (request: FastifyRequest, reply: FastifyReply, account: Ledger.Exceeded) => {
  quotaHeaders(reply, account, 0, account.balance)
  return reply.code(402).send({
    error: "quota_exceeded",
    message: "Period quota and credit balance are both spent.",
    request_id: request.id,
    plan: account.plan,
    quota: account.quota,
    credits_used: account.used,
    remaining: account.quota - account.used,
    balance: account.balance,
    resets_at: new Date(account.resetsAt).toISOString()
  })
}

interface Ran {
  readonly logged: Ledger.Logged
  readonly organic: ReadonlyArray<OrganicResult> | undefined
}

/** Tries the cache, then the upstream. Ranks results with the same function as Quarry. */
const run = async (caller: Caller, search: Search, batchId: string | null): Promise<Ran> => {
  const startedAt = Date.now()
  const logged = (outcome: Ledger.Logged["outcome"], cached: boolean, resultCount: number): Ledger.Logged => ({
    id: makeId("qry_"),
    keyId: caller.keyId,
    batchId,
    search,
    outcome,
    cached,
    resultCount,
    durationMs: Date.now() - startedAt
  })
  try {
    const kept = await cache.get(search)
    const rows = kept ?? (await askUpstream(search))
    if (kept === undefined) cache.set(search, rows)
    const organic = rank(rows, search.num)
    return { organic, logged: logged("ok", kept !== undefined, organic.length) }
  } catch (error) {
    const timedOut = error instanceof Error && /timeout/i.test(error.name)
    app.log.warn(error)
    return { organic: undefined, logged: logged(timedOut ? "upstream_timeout" : "upstream_error", false, 0) }
  }
}

const toResult = (id: string, { geo, locale, page, query, target }: Search, organic: ReadonlyArray<OrganicResult>) => ({
  id,
  target,
  query,
  geo,
  locale,
  page,
  results: { organic }
})

const text = { type: "string" } as const
const result = {
  id: text,
  target: text,
  query: text,
  geo: text,
  locale: text,
  page: { type: "integer" },
  results: {
    type: "object",
    properties: {
      organic: {
        type: "array",
        items: {
          type: "object",
          properties: { position: { type: "integer" }, title: text, url: text, domain: text, snippet: text }
        }
      }
    }
  }
} as const

/** Fastify compiles a serializer from this schema. */
const searchSchema = { response: { 200: { type: "object", properties: result } } } as const
const bulkRow = { status: text, error: text, message: text, ...result } as const
const bulkSchema = {
  response: {
    200: {
      type: "object",
      properties: {
        batch_id: text,
        total: { type: "integer" },
        succeeded: { type: "integer" },
        failed: { type: "integer" },
        results: { type: "array", items: { type: "object", properties: bulkRow } }
      }
    }
  }
} as const

const callerOf = (request: FastifyRequest): Caller => {
  if (request.caller === null) throw new Error("the request was not admitted")
  return request.caller
}

app.get<{ Querystring: Record<string, unknown> }>(
  "/v1/query",
  { onRequest: admit, schema: searchSchema },
  async (request, reply) => {
    const search = parseSearch(request.query)
    if ("error" in search) return refuse(request, reply, 400, search)
    const caller = callerOf(request)
    const hold = await ledger.reserve(makeId("hld_"), caller.accountId, 1)
    if (!("id" in hold)) return refuseQuota(request, reply, hold)
    const { logged, organic } = await run(caller, search, null)
    await ledger.settle(hold, [logged])
    quotaHeaders(reply, hold, 1, hold.balance - hold.fromBalance)
    if (organic !== undefined) return toResult(logged.id, search, organic)
    return logged.outcome === "upstream_timeout"
      ? refuse(request, reply, 504, { error: logged.outcome, message: "The search provider did not answer in time." })
      : refuse(request, reply, 502, { error: "upstream_error", message: "The search provider gave no usable answer." })
  }
)

/** A row of a batch: a search, or its validation errors. */
const parseRow = (body: Readonly<Record<string, unknown>>, row: unknown): Search | Refused => {
  if (typeof row === "string") return parseSearch({ ...body, query: row })
  if (typeof row === "object" && row !== null) return parseSearch({ ...body, ...row })
  return { error: "invalid_request", message: "a row must be a string or an object" }
}

app.post<{ Body: Record<string, unknown> }>(
  "/v1/bulk",
  { onRequest: admit, schema: bulkSchema },
  async (request, reply) => {
    const { queries, ...defaults } = request.body ?? {}
    if (!Array.isArray(queries) || queries.length < 1 || queries.length > 50) {
      const issues = [{ field: "queries", message: "must have 1 to 50 entries" }]
      return refuse(request, reply, 400, { error: "invalid_request", message: "The request is not valid.", issues })
    }
    const caller = callerOf(request)
    const batchId = makeId("bat_")
    const rows = queries.map((row) => parseRow(defaults, row))
    const searches = rows.filter((row): row is Search => !("error" in row))
    const hold = await ledger.reserve(makeId("hld_"), caller.accountId, searches.length)
    if (!("id" in hold)) return refuseQuota(request, reply, hold)

    const ran = new Map<Search, Ran>()
    const waiting = searches.values()
    const worker = async () => {
      for (const search of waiting) ran.set(search, await run(caller, search, batchId))
    }
    await Promise.all(Array.from({ length: Math.max(5, Math.min(caller.concurrency, searches.length)) }, worker))
    await ledger.settle(
      hold,
      [...ran.values()].map(({ logged }) => logged)
    )

    const results = rows.map((row) => {
      if ("error" in row) return { status: "error", error: row.error, message: row.message }
      const { logged, organic } = ran.get(row) ?? {}
      return logged === undefined || organic === undefined
        ? { status: "error", error: logged?.outcome ?? "internal_error", message: "The search gave no usable answer." }
        : { status: "ok", ...toResult(logged.id, row, organic) }
    })
    const succeeded = results.filter(({ status }) => status === "ok").length
    quotaHeaders(reply, hold, searches.length, hold.balance - hold.fromBalance)
    return { batch_id: batchId, total: rows.length, succeeded, failed: rows.length - succeeded, results }
  }
)

process.once("SIGTERM", async () => {
  clearInterval(sweeper)
  await app.close()
  await pool.end()
  redis.disconnect()
})

await app.listen({ host: "127.0.0.1", port: settings.port })
