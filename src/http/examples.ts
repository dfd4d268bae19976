/** Examples of requests and answers, by the operation's id. The document shows them, and tests hold them to its schemas. */

const batchId = "bat_0d8f1c6a35b04e7d9c2b7a61f4e39d58"
const queryId = "qry_5b1f8c0e9d7a46f2a3c4e6b8d0f21357"
const keyId = "key_9a4c2e7f1b8d43650f7e6d5c4b3a2918"

const result = {
  id: queryId,
  target: "alpha_search",
  query: "http caching",
  geo: "us",
  locale: "en-us",
  page: 1,
  results: {
    organic: [
      {
        position: 1,
        title: "HTTP caching",
        url: "https://www.example.org/guides/http-caching",
        domain: "example.org",
        snippet: "How browsers and proxies decide what to keep, and for how long."
      }
    ]
  }
}

const logged = {
  id: queryId,
  created_at: "2026-03-14T09:26:53.589Z",
  batch_id: null,
  key_id: keyId,
  target: "alpha_search",
  query: "http caching",
  geo: "us",
  locale: "en-us",
  page: 1,
  num: 10,
  safe: "off",
  source: "api",
  status: "ok",
  credits: 1,
  cached: false,
  result_count: 1,
  duration_ms: 412,
  request_id: "0f8fad5b-d9cb-469f-a165-70867728950e",
  row: null
}

const key = {
  id: keyId,
  name: "CI",
  type: "live",
  hint: "sk_live_7Hq2…x9Zk",
  created_at: "2026-03-01T08:00:00.000Z",
  last_used_at: null,
  revoked_at: null
}

const issued = { ...key, secret: "sk_live_…" }

const counts = { searches: 3, credits: 3, outcomes: { ok: 3, upstream_error: 0, upstream_timeout: 0 } }

/** A value for a parameter in a path or query string. */
export const parameterExamples: Readonly<Record<string, unknown>> = { query: "http caching", id: keyId }

export const requestExamples: Readonly<Record<string, unknown>> = {
  bulk: { queries: ["http caching", { query: "etag", num: 5 }], target: "alpha_search" },
  createApiKey: { name: "CI", type: "live" },
  mcp: {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "web_search", arguments: { query: "http caching" } }
  }
}

/** The body of the answer when all is well. */
export const responseExamples: Readonly<Record<string, unknown>> = {
  query: result,
  bulk: {
    batch_id: batchId,
    total: 2,
    succeeded: 1,
    failed: 1,
    results: [
      { status: "ok", ...result },
      { status: "error", error: "upstream_timeout", message: "The search provider did not answer in time." }
    ]
  },
  me: {
    email: "ada@example.org",
    plan: "starter",
    credits_available: 4990,
    api_key: { id: keyId, label: "CI", mode: "live" }
  },
  usage: {
    plan: "starter",
    period: { start: "2026-03-01T08:00:00.000Z", end: "2026-04-01T08:00:00.000Z" },
    quota: 5000,
    used: 10,
    remaining: 4990,
    balance: 0,
    resets_at: "2026-04-01T08:00:00.000Z",
    from: "2026-03-14T00:00:00.000Z",
    to: "2026-03-15T00:00:00.000Z",
    granularity: "day",
    group_by: null,
    totals: counts,
    series: [{ start: "2026-03-14T00:00:00.000Z", group: null, ...counts }]
  },
  recentQueries: { queries: [logged] },
  queryHistory: { queries: [logged], next_cursor: "MTc3MzQ4MDQxMzU4OTAwMC4x" },
  listApiKeys: { api_keys: [key] },
  createApiKey: issued,
  rotateApiKey: issued,
  mcp: { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: "1. HTTP caching …" }] } }
}
