import type { Refusal } from "../../../src/domain/providers/Refusal.ts"
import type { searchRequest } from "../api/requests.ts"
import { answer as searxngAnswer, row as searxngRow } from "./SearXNGServer.ts"
import { type Answer, json, type Received, text } from "./UpstreamServer.ts"

export const key = "k3y-that-must-not-be-seen"

type Reason = Refusal["reason"]

/** A provider type: its documented responses, and the requests that the adapter must send. */
export interface UpstreamFixture {
  readonly type: string
  /** The entry in the provider file, without the address. */
  readonly entry: Readonly<Record<string, unknown>>
  readonly engine?: string
  /** A documented response with these rows. */
  readonly answer: (rows: ReadonlyArray<number>) => unknown
  /** A 200 response that contains an error and no rows, and its meaning. */
  readonly errorInside: readonly [unknown, Reason]
  /** Statuses that have another meaning than for the other providers. */
  readonly statuses?: Readonly<Record<number, Reason>>
  /** Documented failures. */
  readonly failures: ReadonlyArray<readonly [string, Answer, Reason, retryAfterMs?: number]>
  /** Searches, and the requests to send for them. */
  readonly requests: ReadonlyArray<readonly [Parameters<typeof searchRequest>[0], (received: Received) => Sent]>
  /** Searches that the provider does not support. */
  readonly unserved: ReadonlyArray<Parameters<typeof searchRequest>[0]>
}

/** The compared parts of a request. */
export interface Sent {
  readonly expected: unknown
  readonly actual: unknown
}

const query = (path: string, expected: Record<string, string>, header?: readonly [string, string]) => {
  return (received: Received): Sent => ({
    expected: { method: "GET", path, parameters: expected, header: header?.[1] },
    actual: {
      method: received.method,
      path: received.path,
      parameters: Object.fromEntries(received.query),
      header: header === undefined ? undefined : received.headers[header[0]]
    }
  })
}

const body = (path: string, expected: unknown, header: readonly [string, string]) => {
  return (received: Received): Sent => ({
    expected: { method: "POST", path, body: expected, header: header[1], type: "application/json" },
    actual: {
      method: received.method,
      path: received.path,
      body: JSON.parse(received.body),
      header: received.headers[header[0]],
      type: received.headers["content-type"]
    }
  })
}

const url = (n: number) => `https://example.test/${n}`
const title = (n: number) => `Title ${n}`
const snippet = (n: number) => `Snippet ${n}`

const brave: UpstreamFixture = {
  type: "brave",
  entry: { apiKey: key },
  answer: (rows) => ({
    type: "search",
    query: { original: "q", more_results_available: true },
    mixed: { type: "mixed", main: [] },
    ...(rows.length === 0
      ? {}
      : {
          web: {
            type: "search",
            results: rows.map((n) => ({ url: url(n), title: title(n), description: snippet(n), language: "en" }))
          }
        })
  }),
  errorInside: [{ type: "ErrorResponse", error: { code: "INTERNAL", detail: "it broke" } }, "malformed"],
  failures: [
    [
      "401",
      json({ type: "ErrorResponse", error: { code: "SUBSCRIPTION_TOKEN_INVALID", status: 401 } }, 401),
      "unauthorized"
    ],
    [
      "429, telling when in its own header",
      json(
        {
          error: { code: "RATE_LIMITED", detail: "Request rate limit exceeded for plan", meta: { quota_limit: 2000 } }
        },
        429,
        { "x-ratelimit-reset": "1, 419704" }
      ),
      "rate_limited",
      1_000
    ],
    [
      "429 for the month",
      json({ error: { code: "QUOTA_LIMITED", detail: "Monthly quota exceeded" } }, 429, {
        "x-ratelimit-reset": "1, 419704"
      }),
      "quota",
      419_704_000
    ],
    [
      "422 for the key",
      json({ type: "ErrorResponse", error: { status: 422, code: "SUBSCRIPTION_TOKEN_INVALID" } }, 422),
      "unauthorized"
    ],
    [
      "422",
      json({ error: { code: "VALIDATION", detail: "Unable to validate request parameter(s)" } }, 422),
      "malformed"
    ]
  ],
  requests: [
    [
      { query: "café & co", geo: "jp", locale: "ja-jp", safe: "strict", page: 2, num: 20 },
      query(
        "/res/v1/web/search",
        {
          q: "café & co",
          count: "20",
          offset: "1",
          country: "JP",
          search_lang: "jp",
          safesearch: "strict",
          result_filter: "web",
          text_decorations: "false"
        },
        ["x-subscription-token", key]
      )
    ],
    [
      { geo: "ke", locale: "sw-ke", num: 7, page: 3 },
      query("/res/v1/web/search", {
        q: "effect typescript",
        count: "7",
        offset: "2",
        country: "ALL",
        safesearch: "off",
        result_filter: "web",
        text_decorations: "false"
      })
    ]
  ],
  unserved: [{ query: "x".repeat(401) }, { query: Array(51).fill("x").join(" ") }]
}

const serper: UpstreamFixture = {
  type: "serper",
  entry: { apiKey: key },
  answer: (rows) => ({
    searchParameters: { q: "q", type: "search" },
    ...(rows.length === 0
      ? {}
      : {
          organic: rows.map((n, index) => ({ title: title(n), link: url(n), snippet: snippet(n), position: index + 1 }))
        }),
    relatedSearches: []
  }),
  errorInside: [{ message: "Something broke", statusCode: 500 }, "malformed"],
  failures: [
    ["403", json({ message: "Unauthorized. Sign up for a free account.", statusCode: 403 }, 403), "unauthorized"],
    ["400 without credits", json({ message: "Not enough credits", statusCode: 400 }, 400), "quota"],
    ["400", json({ message: "Missing query parameter", statusCode: 400 }, 400), "malformed"],
    ["429", json({ message: "Too many requests", statusCode: 429 }, 429), "rate_limited"],
    ["429 without credits", json({ message: "Your balance is empty", statusCode: 429 }, 429), "quota"]
  ],
  requests: [
    [
      { geo: "de", locale: "de-de", page: 2, num: 10 },
      body("/search", { q: "effect typescript", gl: "de", hl: "de", num: 10, page: 2 }, ["x-api-key", key])
    ]
  ],
  unserved: [{ safe: "moderate" }, { safe: "strict" }]
}

const serpapi: UpstreamFixture = {
  type: "serpapi",
  entry: { apiKey: key },
  answer: (rows) => ({
    search_metadata: { status: "Success" },
    ...(rows.length === 0
      ? { error: "Google hasn't returned any results for this query." }
      : { organic_results: rows.map((n) => ({ position: n, title: title(n), link: url(n), snippet: snippet(n) })) })
  }),
  errorInside: [{ search_metadata: { status: "Error" }, error: "We couldn't get valid results" }, "malformed"],
  failures: [
    [
      "401",
      json({ error: "Invalid API key. Your API key should be here: https://serpapi.com/manage-api-key" }, 401),
      "unauthorized"
    ],
    ["403", json({ error: "The account has been deleted" }, 403), "unauthorized"],
    ["400", json({ error: "Missing query `q` parameter." }, 400), "malformed"],
    ["429 out of searches", json({ error: "Your account has run out of searches." }, 429), "quota"],
    ["429", json({ error: "You are exceeding the hourly throughput" }, 429), "rate_limited"],
    ["503", json({ error: "Our servers are busy" }, 503), "unreachable"]
  ],
  requests: [
    [
      { geo: "fr", locale: "fr-fr", safe: "moderate", page: 3 },
      query("/search.json", {
        engine: "google",
        q: "effect typescript",
        start: "20",
        gl: "fr",
        hl: "fr",
        safe: "active",
        api_key: key
      })
    ]
  ],
  unserved: []
}

const mojeek: UpstreamFixture = {
  type: "mojeek",
  entry: { apiKey: key },
  answer: (rows) => ({
    response: {
      status: "OK",
      head: { query: "q", results: 1000 },
      ...(rows.length === 0 ? {} : { results: rows.map((n) => ({ url: url(n), title: title(n), desc: snippet(n) })) })
    }
  }),
  errorInside: [{ response: { status: "ERROR: Something broke" } }, "malformed"],
  failures: [
    ["a day's limit in the body", json({ response: { status: "ERROR: Daily Limit Reached" } }), "quota"],
    ["a bad key in the body", json({ response: { status: "ERROR: Invalid API key" } }), "unauthorized"]
  ],
  requests: [
    [
      { geo: "gb", locale: "en-gb", safe: "strict", page: 3, num: 7 },
      query("/search", {
        api_key: key,
        q: "effect typescript",
        fmt: "json",
        s: "15",
        t: "7",
        safe: "1",
        rb: "GB",
        lb: "EN"
      })
    ]
  ],
  unserved: []
}

const marginalia: UpstreamFixture = {
  type: "marginalia",
  entry: { apiKey: key },
  answer: (rows) => ({
    license: "CC-BY-NC-SA 4.0",
    query: "q",
    results: rows.map((n) => ({ url: url(n), title: title(n), description: snippet(n), quality: 3 }))
  }),
  errorInside: [{ error: "it broke" }, "malformed"],
  statuses: { 503: "rate_limited" },
  failures: [
    ["401", text("no", 401), "unauthorized"],
    ["503, its limit", text("", 503), "rate_limited"],
    ["504", text("", 504), "timeout"]
  ],
  requests: [
    [
      { safe: "moderate", page: 2, num: 20 },
      query("/search", { query: "effect typescript", count: "20", page: "2", nsfw: "1" }, ["api-key", key])
    ]
  ],
  unserved: []
}

const weighted = (group: string) => [
  `${group}.title^4`,
  `${group}.headings^2`,
  `${group}.address^1`,
  `${group}.description^1`,
  `${group}.content^1`
]

const combined = (group: string, query: string) => ({
  combined_fields: { query, fields: weighted(group), operator: "or" }
})

const opensearch: UpstreamFixture = {
  type: "opensearch",
  entry: { index: "pages", apiKey: key },
  answer: (rows) => ({
    took: 3,
    timed_out: false,
    _shards: { total: 1, successful: 1, skipped: 0, failed: 0 },
    hits: {
      max_score: 1,
      hits: rows.map((n) => ({
        _index: "pages",
        _id: `${n}`,
        _score: 1,
        _source: { url: url(n), en: { title: title(n), description: snippet(n) } }
      }))
    }
  }),
  errorInside: [{ error: { type: "search_phase_execution_exception" }, status: 500 }, "malformed"],
  failures: [
    ["401", json({ error: { type: "security_exception" }, status: 401 }, 401), "unauthorized"],
    ["404", json({ error: { type: "index_not_found_exception" }, status: 404 }, 404), "malformed"],
    ["429", json({ error: { type: "es_rejected_execution_exception" }, status: 429 }, 429), "rate_limited"],
    ["503", json({ error: { type: "cluster_block_exception" }, status: 503 }, 503), "unreachable"]
  ],
  requests: [
    [
      { locale: "en-us", page: 2, num: 20 },
      body(
        "/pages/_search",
        {
          from: 20,
          size: 20,
          timeout: "4s",
          track_total_hits: false,
          _source: ["url", "*.title", "*.description"],
          query: {
            bool: {
              must: [
                {
                  dis_max: { queries: [combined("en", "effect typescript"), combined("plain", "effect typescript")] }
                }
              ],
              filter: [{ terms: { target: ["alpha_search", "all"] } }],
              must_not: []
            }
          },
          highlight: {
            type: "unified",
            require_field_match: false,
            pre_tags: [""],
            post_tags: [""],
            fragment_size: 150,
            number_of_fragments: 2,
            order: "score",
            fields: { "*.content": {} }
          }
        },
        ["authorization", `ApiKey ${key}`]
      )
    ]
  ],
  unserved: []
}

const openserp: UpstreamFixture = {
  type: "openserp",
  entry: { apiKey: key },
  engine: "duck",
  answer: (rows) => ({
    meta: { engines_failed: [], engine_errors: {} },
    results: rows.map((n) => ({
      url: url(n),
      title: title(n),
      snippet: snippet(n),
      rank: n,
      position: { absolute: n }
    }))
  }),
  errorInside: [
    { meta: { engines_failed: ["duck"], engine_errors: { duck: "captcha_detected" } }, results: [] },
    "blocked"
  ],
  statuses: { 403: "blocked" },
  failures: [
    ["403", json({ error: "blocked", code: 403, message: "search engine blocked the request" }, 403), "blocked"],
    ["429, a captcha", json({ error: "captcha_detected", code: 429, message: "captcha detected" }, 429), "blocked"],
    [
      "429 of the engine",
      json({ error: "blocked", code: 429, message: "search engine blocked the request (HTTP 429)" }, 429),
      "blocked"
    ],
    ["429, its own limit", json({ error: "rate limit exceeded" }, 429), "rate_limited"],
    ["502", json({ error: "parser_failure", code: 502, message: "parser failure" }, 502), "unreachable"],
    ["503", json({ error: "proxy_unavailable", code: 503, message: "proxy unavailable" }, 503), "unreachable"],
    ["504", json({ error: "search_timeout", code: 504, message: "timeout" }, 504), "timeout"]
  ],
  requests: [
    [
      { geo: "us", locale: "en-us", page: 2, num: 20 },
      query("/duck/search", { text: "effect typescript", lang: "EN", region: "US", limit: "20", start: "20" }, [
        "authorization",
        `Bearer ${key}`
      ])
    ]
  ],
  unserved: [{ safe: "strict" }]
}

const kagi: UpstreamFixture = {
  type: "kagi",
  entry: { apiKey: key },
  answer: (rows) => ({
    meta: { trace: "t", ms: 12 },
    data: rows.length === 0 ? {} : { search: rows.map((n) => ({ url: url(n), title: title(n), snippet: snippet(n) })) }
  }),
  errorInside: [{ meta: { trace: "t" }, data: null, error: [{ code: 1, msg: "it broke" }] }, "malformed"],
  failures: [
    ["401", json({ meta: {}, error: [{ code: 1, msg: "Unauthorized" }] }, 401), "unauthorized"],
    [
      "400 without credit",
      json({ meta: {}, error: [{ code: 2, msg: "Insufficient credit to perform this request." }] }, 400),
      "quota"
    ]
  ],
  requests: [
    [
      { geo: "in", page: 2, num: 20, safe: "strict" },
      body(
        "/api/v1/search",
        { query: "effect typescript", page: 2, limit: 20, safe_search: true, filters: { region: "in" } },
        ["authorization", `Bearer ${key}`]
      )
    ]
  ],
  unserved: []
}

const tavily: UpstreamFixture = {
  type: "tavily",
  entry: { apiKey: key },
  answer: (rows) => ({
    query: "q",
    results: rows.map((n) => ({ url: url(n), title: title(n), content: snippet(n), score: 1 / n })),
    response_time: 1
  }),
  errorInside: [{ detail: { error: "it broke" } }, "malformed"],
  failures: [
    ["401", json({ detail: { error: "Unauthorized: missing or invalid API key." } }, 401), "unauthorized"],
    ["400", json({ detail: { error: "Query is too long. Max query length is 400 characters." } }, 400), "malformed"],
    [
      "429",
      json({ detail: { error: "Your request has been blocked due to excessive requests." } }, 429),
      "rate_limited"
    ],
    ["432", json({ detail: { error: "This request exceeds your plan's set usage limit." } }, 432), "quota"],
    ["433", json({ detail: { error: "This request exceeds the pay-as-you-go limit." } }, 433), "quota"]
  ],
  requests: [
    [
      { geo: "de", page: 2, num: 10 },
      body(
        "/search",
        { query: "effect typescript", max_results: 20, search_depth: "basic", topic: "general", country: "germany" },
        ["authorization", `Bearer ${key}`]
      )
    ],
    [
      { geo: "ci", num: 5 },
      body("/search", { query: "effect typescript", max_results: 5, search_depth: "basic", topic: "general" }, [
        "authorization",
        `Bearer ${key}`
      ])
    ]
  ],
  unserved: [{ page: 3, num: 10 }, { safe: "moderate" }]
}

const exa: UpstreamFixture = {
  type: "exa",
  entry: { apiKey: key },
  answer: (rows) => ({
    requestId: "r",
    results: rows.map((n) => ({ url: url(n), title: title(n), highlights: [snippet(n)], score: 1 / n })),
    costDollars: { total: 0.005 }
  }),
  errorInside: [{ error: "it broke", requestId: "r" }, "malformed"],
  failures: [
    ["401", json({ error: "Invalid API key", tag: "INVALID_API_KEY" }, 401), "unauthorized"],
    ["402", json({ error: "No more credits", tag: "NO_MORE_CREDITS" }, 402), "quota"],
    ["402 for the key", json({ error: "API key budget exceeded", tag: "API_KEY_BUDGET_EXCEEDED" }, 402), "quota"],
    ["403 for the query", json({ error: "Content is not allowed", tag: "PROHIBITED_CONTENT" }, 403), "malformed"],
    ["403 for the key", json({ error: "Insufficient scope", tag: "INSUFFICIENT_SCOPE" }, 403), "unauthorized"],
    ["400", json({ error: "numResults: api key quota", tag: "INVALID_NUM_RESULTS" }, 400), "malformed"],
    ["429", json({ error: "You've exceeded your Exa rate limit", tag: "RATE_LIMIT_EXCEEDED" }, 429), "rate_limited"],
    ["503", json({ error: "unavailable" }, 503), "unreachable"]
  ],
  requests: [
    [
      { geo: "us", num: 20, safe: "moderate" },
      body(
        "/search",
        {
          query: "effect typescript",
          type: "auto",
          numResults: 20,
          userLocation: "US",
          moderation: true,
          contents: { highlights: { numSentences: 2, highlightsPerUrl: 1 } }
        },
        ["x-api-key", key]
      )
    ]
  ],
  unserved: []
}

const searxng: UpstreamFixture = {
  type: "searxng",
  entry: { headers: { "x-proxy-key": key } },
  engine: "google",
  answer: (rows) => searxngAnswer({ results: rows.map((n) => searxngRow(n)) }),
  errorInside: [{ error: "search error" }, "malformed"],
  statuses: { 403: "malformed" },
  // A separate test covers its documented failures and requests.
  failures: [],
  requests: [],
  unserved: []
}

export const upstreams: ReadonlyArray<UpstreamFixture> = [
  searxng,
  brave,
  serper,
  serpapi,
  mojeek,
  marginalia,
  opensearch,
  openserp,
  kagi,
  tavily,
  exa
]
