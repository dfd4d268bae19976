/** Means of the attacker in `neighbors`: anonymous requests, and a trial account with a key and a session. */
export interface FloodMeans {
  readonly port: number
  readonly secret: string
  readonly cookie: string
  readonly demoOrigin: string
  /** The trial account's webhooks. */
  readonly webhooks: ReadonlyArray<string>
}

export interface FloodRequest {
  readonly method: "GET" | "POST" | "PATCH"
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** Requests sent in turn, at a rate that the limits of the demo, of a trial account and of addresses admit. */
export interface Flood {
  readonly perSecond: number
  /** `isHarmless` returns as many requests to the same routes, without anything that is expensive to read. */
  readonly requests: (means: FloodMeans, isHarmless: boolean) => ReadonlyArray<FloodRequest>
}

const maxBodyBytes = 1024 ** 2
const maxQueryBytes = 15_000

/** Repeats `text` as often as it fits. */
const fill = (text: string, bytes: number): string => text.repeat(Math.floor(bytes / text.length))

/** A body of a megabyte: `head`, then copies of `item` separated by commas, then `tail`. */
const jsonOf = (head: string, item: string, tail: string): string =>
  `${head}${fill(`${item},`, maxBodyBytes - head.length - item.length - tail.length)}${item}${tail}`

const credentials = ({ cookie, demoOrigin, port, secret }: FloodMeans) => ({
  key: { authorization: `Bearer ${secret}` },
  session: { cookie, origin: `http://localhost:${port}` },
  demo: { "x-demo-origin": demoOrigin },
  page: { origin: `http://localhost:${port}` }
})

/** Twenty requests, two with the key and two with the session: 60 per minute are admitted for each. */
const queryStrings: Flood = {
  perSecond: 10,
  requests: (means, isHarmless) => {
    const { demo, key, session } = credentials(means)
    const get = (path: string, headers: Readonly<Record<string, string>> = {}): FloodRequest => {
      const end = path.includes("?") ? "&" : "?"
      return { method: "GET", path: isHarmless ? path : `${path}${end}${fill("a&", maxQueryBytes)}`, headers }
    }
    // A value that is not valid UTF-8 uses a different parser of parameters.
    const demos = [get("/v1/query?query=css&geo=%ff", demo), get("/v1/query?query=css", demo)]
    const anonymous = [
      get("/oauth/sign-in"),
      get("/oauth/confirm?token=a"),
      get("/api/auth/oauth2/authorize?client_id=a&scope=%ff"),
      get("/compat/searxng/search?q=css")
    ]
    return [
      ...[...demos, ...demos, ...demos, ...demos, ...anonymous, ...anonymous],
      get("/compat/searxng/search?q=css", key),
      get("/v1/query?query=css&geo=%ff", key),
      get("/v1/usage?from=%ff", session),
      get("/v1/query/history?limit=%ff", session)
    ]
  }
}

const forms: Flood = {
  perSecond: 3,
  requests: (means, isHarmless) => {
    const { key, page } = credentials(means)
    const post = (path: string, fields: string, headers: Readonly<Record<string, string>> = {}): FloodRequest => ({
      method: "POST",
      path,
      headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
      body: `${fields}&${isHarmless ? `a=${fill("a", maxBodyBytes - 100)}` : fill("a&", maxBodyBytes - 100)}`
    })
    return [
      post("/oauth/sign-in", "email=a@a.test&password=a", page),
      post("/api/auth/oauth2/token", "grant_type=refresh_token"),
      post("/compat/searxng/search", "q=css"),
      post("/compat/searxng/search", "q=css", key)
    ]
  }
}

/** Eight requests, three with the key and three with the session. */
const bodies: Flood = {
  perSecond: 2,
  requests: (means, isHarmless) => {
    const { key, page, session } = credentials(means)
    const send = (
      method: "POST" | "PATCH",
      path: string,
      head: string,
      item: string,
      tail: string,
      headers: Readonly<Record<string, string>>
    ): FloodRequest => ({
      method,
      path,
      headers: { "content-type": "application/json", ...headers },
      body: isHarmless ? `{"a":"${fill("a", maxBodyBytes - 10)}"}` : jsonOf(head, item, tail)
    })
    const registration = `{"redirect_uris":[`
    return [
      send("POST", "/v1/bulk", `{"queries":[`, "1", "]}", key),
      send("POST", "/compat/tavily/search", `{"query":"css","include_domains":[`, "1", "]}", key),
      send("POST", "/compat/perplexity/search", `{"query":[`, "1", "]}", key),
      send("POST", "/v1/webhooks", `{"url":"http://localhost/","events":[`, `"a"`, "]}", session),
      send("POST", "/v1/api-keys", `{"name":"a","networks":[`, `"a"`, "]}", session),
      send("PATCH", "/v1/webhooks/settings", `{"low_percents":[`, "-1", "]}", session),
      send("POST", "/api/auth/sign-in/email", `{"password":"a","email":[`, "1", "]}", page),
      send("POST", "/api/auth/oauth2/register", registration, `"a"`, "]}", {})
    ]
  }
}

/** As many test events as the session's rate limit admits. Their cost depends on the receivers. */
const testEvents: Flood = {
  perSecond: 1,
  requests: (means) =>
    means.webhooks.map((id) => ({
      method: "POST",
      path: `/v1/webhooks/${id}/test`,
      headers: credentials(means).session
    }))
}

export const floods = { queryStrings, forms, bodies, testEvents } as const
