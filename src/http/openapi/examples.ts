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

const page = {
  id: "pag_7c1e5a90d3b84f26a1c9e4d7b0f28365",
  url: "https://example.org/guides/http-caching",
  final_url: "https://www.example.org/guides/http-caching",
  title: "HTTP caching",
  description: "How browsers and proxies decide what to keep, and for how long.",
  author: null,
  site_name: "Example",
  published: "2026-03-02",
  language: "en",
  media_type: "text/html",
  format: "markdown",
  content: "Browsers keep copies of what they fetch.\n\n## Freshness\n\n…",
  start: 0,
  characters: 18_211,
  truncated: true,
  fetched_at: "2026-03-14T09:26:53.589Z"
}

const logged = {
  id: queryId,
  created_at: "2026-03-14T09:26:53.589Z",
  batch_id: null,
  key_id: keyId,
  kind: "search",
  target: "alpha_search",
  query: "http caching",
  geo: "us",
  locale: "en-us",
  page: 1,
  num: 10,
  safe: "off",
  options: null,
  source: "api",
  status: "ok",
  credits: 1,
  cached: false,
  result_count: 1,
  duration_ms: 412,
  provider: "meta/google",
  attempts: [{ provider: "brave", reason: "timeout", ms: 3000 }],
  request_id: "0f8fad5b-d9cb-469f-a165-70867728950e",
  row: null,
  host: null,
  reason: null,
  bytes: null
}

const key = {
  id: keyId,
  name: "CI",
  type: "live",
  hint: "sk_live_7Hq2…x9Zk",
  created_at: "2026-03-01T08:00:00.000Z",
  created_by: "ada@example.com",
  last_used_at: null,
  revoked_at: null,
  expires_at: "2026-06-01T00:00:00.000Z",
  budget: { credits: 1000, period: "day", spent: 120, resets_at: "2026-03-15T00:00:00.000Z" },
  targets: ["alpha_search", "gamma_search"],
  networks: ["203.0.113.0/24", "2001:db8::/32"]
}

const member = {
  id: "mem_4d1f8b7a2c9e46035e6d7c8b9a0f1234",
  email: "grace@example.com",
  role: "developer",
  status: "invited",
  targets: null,
  budget: { credits: 5000, period: "month", spent: 0, resets_at: "2026-04-01T00:00:00.000Z" }
}

const accountId = "acc_2b7d1f60c8935e6c8b1a3f0d4c579a4e"

const issued = { ...key, secret: "sk_live_…" }

const newKey = {
  name: "CI",
  type: "live",
  expires_at: "2026-06-01T00:00:00Z",
  budget: { credits: 1000, period: "day" },
  targets: ["alpha_search", "gamma_search"],
  networks: ["203.0.113.0/24", "2001:db8::/32"]
}

const counts = {
  searches: 3,
  credits: 3,
  outcomes: { ok: 3, upstream_error: 0, upstream_timeout: 0, page_unreadable: 0 }
}

const webhook = {
  id: "whk_3f0b9d2c7e6a48159c4d8e1f2a3b5c60",
  url: "https://hooks.example.com/quarry",
  events: ["credits.low", "credits.exhausted"],
  created_at: "2026-03-01T08:00:00.000Z",
  failing_since: null,
  disabled_at: null,
  disabled_reason: null
}

const issuedWebhook = { ...webhook, secret: "whsec_…" }

const eventSettings = { low_percents: [80, 95], low_balance: 1000, email_events: ["credits.exhausted"] }

const delivery = {
  id: "dlv_6d1f0a9b8c7e4d35a2b1c0d9e8f7a6b5",
  event_id: "evt_8c2b1a0f9e8d4c7b6a5f4e3d2c1b0a99",
  type: "credits.low",
  data: {
    source: "quota",
    threshold_percent: 80,
    plan: "growth",
    quota: 75000,
    used: 60000,
    remaining: 15000,
    balance: 0,
    resets_at: "2026-04-01T08:00:00.000Z"
  },
  status: "delivered",
  attempts: 1,
  created_at: "2026-03-14T09:26:53.589Z",
  attempted_at: "2026-03-14T09:26:54.102Z",
  next_attempt_at: null,
  http_status: 204,
  error: null,
  duration_ms: 83
}

const queued = { ...delivery, status: "pending", attempts: 0, attempted_at: null, http_status: null, duration_ms: null }

const sessionId = "0wS3dVhY7rB2kQ9tLxN5fJ8mZp4cG6aE"

const appId = "kT5nRz8vWq2XyB7hLd4sFj9mCp3gA6eU"

const billing = {
  open: true,
  plan: "growth",
  plan_name: "Growth",
  subscription: {
    status: "active",
    plan: "growth",
    current_period_start: "2026-03-01T08:00:00.000Z",
    current_period_end: "2026-04-01T08:00:00.000Z",
    cancel_at_period_end: false,
    pending_plan: null,
    pending_at: null,
    past_due_since: null,
    grace_until: null
  },
  plans: [
    { plan: "starter", name: "Starter", price: 900, requests: 5000, concurrency: 2, pack_rate: 150 },
    { plan: "growth", name: "Growth", price: 4900, requests: 75000, concurrency: 5, pack_rate: 80 },
    { plan: "business", name: "Business", price: 9900, requests: 200000, concurrency: 10, pack_rate: 60 }
  ],
  packs: [
    { credits: 10000, price: 800 },
    { credits: 50000, price: 4000 },
    { credits: 100000, price: 8000 }
  ],
  currency: "usd",
  balance: 12000,
  owed: 0
}

const checkout = { checkout_url: "https://pay.example/checkout/c_1", expires_at: "2026-03-15T09:26:53.589Z" }

export const parameterExamples: Readonly<Record<string, unknown>> = {
  query: "http caching",
  url: "https://example.org/guides/http-caching",
  q: "http caching",
  session_id: sessionId,
  app_id: appId
}

export const idExamples: ReadonlyArray<string> = [keyId, member.id, webhook.id, delivery.id]

export const requestExamples: Readonly<Record<string, unknown>> = {
  bulk: { queries: ["http caching", { query: "etag", num: 5 }], target: "alpha_search" },
  pages: { urls: ["https://example.org/guides/http-caching", { url: "https://example.org/gone" }], max_chars: 2000 },
  createApiKey: newKey,
  changeApiKey: { budget: { credits: 2000, period: "day" }, targets: null },
  rotateApiKey: { grace_seconds: 3600 },
  inviteMember: { email: member.email, role: member.role },
  changeMember: { role: "viewer", budget: { credits: 5000, period: "month" } },
  useAccount: { account_id: accountId },
  openCheckout: { plan: "growth" },
  changePlan: { plan: "business" },
  buyPack: { credits: 10000 },
  syncBilling: { checkout_id: "5e6c8b1a-3f0d-4c57-9a4e-2b7d1f60c893" },
  createWebhook: { url: webhook.url, events: webhook.events },
  changeWebhook: { disabled: true },
  changeWebhookSettings: { low_balance: 1000 },
  rotateWebhook: { grace_seconds: 3600 },
  mcp: {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "web_search", arguments: { query: "http caching" } }
  }
}

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
  page,
  pages: {
    batch_id: batchId,
    total: 2,
    succeeded: 1,
    failed: 1,
    results: [
      { status: "ok", ...page },
      {
        status: "error",
        error: "page_unreadable",
        message: "The site has no page at this address.",
        reason: "not_found",
        http_status: 404
      }
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
    plan_name: "Starter",
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
  listAccountEvents: {
    events: [
      {
        id: "act_0b6f2f8e1c4d4a0f9d7c5e3b2a190817",
        at: "2026-03-14T09:26:53.589Z",
        type: "key.created",
        actor: "ada@example.com",
        address: "203.0.113.7",
        browser: "Mozilla/5.0 (X11; Linux x86_64) …",
        changes: { key_id: keyId, name: key.name, type: key.type, hint: key.hint }
      }
    ],
    next_cursor: null
  },
  queryHistory: { queries: [logged], next_cursor: "MTc3MzQ4MDQxMzU4OTAwMC4x" },
  listApiKeys: { api_keys: [key] },
  createApiKey: { ...issued, budget: { ...key.budget, spent: 0 } },
  changeApiKey: { ...key, budget: { ...key.budget, credits: 2000 }, targets: null },
  rotateApiKey: issued,
  listMembers: {
    members: [{ ...member, status: "active", role: "owner", email: "ada@example.com", budget: null }, member]
  },
  inviteMember: member,
  resendInvitation: member,
  changeMember: { ...member, role: "viewer" },
  listSessionAccounts: {
    email: "ada@example.com",
    accounts: [{ id: accountId, email: "ada@example.com", role: "owner", member_id: member.id, is_current: true }]
  },
  listSessions: {
    sessions: [
      {
        id: sessionId,
        created_at: "2026-03-12T08:00:00.000Z",
        extended_at: "2026-03-14T09:00:00.000Z",
        expires_at: "2026-03-21T09:00:00.000Z",
        user_agent: "Mozilla/5.0 (X11; Linux x86_64) …",
        is_current: true
      }
    ]
  },
  listApps: {
    apps: [
      {
        id: appId,
        name: "An editor",
        verified_host: "editor.example",
        daily_credits: 100,
        connected_at: "2026-03-12T08:00:00.000Z",
        renewed_at: "2026-03-14T09:00:00.000Z"
      }
    ]
  },
  billing,
  openCheckout: checkout,
  changePlan: { plan: "business", pending_plan: null, effective_at: "2026-03-14T09:26:53.589Z" },
  buyPack: { ...checkout, credits: 10000, price: 800 },
  openPortal: { portal_url: "https://pay.example/portal/p_1", expires_at: "2026-03-14T10:26:53.589Z" },
  syncBilling: billing,
  listWebhooks: { webhooks: [webhook] },
  createWebhook: issuedWebhook,
  changeWebhook: { ...webhook, disabled_at: "2026-03-14T09:26:53.589Z", disabled_reason: "account" },
  rotateWebhook: issuedWebhook,
  webhookSettings: { ...eventSettings, emails_available: true },
  changeWebhookSettings: { ...eventSettings, emails_available: true },
  testWebhook: { ...queued, type: "webhook.test", data: { webhook_id: webhook.id } },
  webhookDeliveries: { deliveries: [delivery], next_cursor: null },
  redeliverWebhook: queued,
  mcp: { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: "1. HTTP caching …" }] } }
}
