import { Effect } from "effect"
import * as Exchange from "./Exchange.ts"
import { type Credential, type RandomRequest, spareHook, spareKey } from "./hostile/RandomRequests.ts"

/** The headers of every kind of credential. Most belong to one account. */
export type Wallet = Readonly<Record<Credential, RandomRequest["headers"]>>

const demoOrigin = "https://demo.test"
const marketplaceSecret = "a secret for tests, of 32 characters or more"
const password = "correct horse battery staple"

/** Settings of a server that accepts all credentials and delivers webhooks to loopback addresses. */
export const settings = {
  DEMO_ORIGIN: demoOrigin,
  MARKETPLACE_PROXY_SECRET: marketplaceSecret,
  MARKETPLACE_PLAN: "custom",
  WEBHOOKS_ALLOW_PRIVATE: "true"
}

let calls = 0

/**
 * Returns a function for our own requests, which must succeed. Each has a separate address, because sign-ups are
 * limited by address.
 */
export const callerOf = (exchange: Exchange.Exchange, port: number) => {
  const origin = `http://localhost:${port}`
  return Effect.fnUntraced(function* (method: string, path: string, fields: object | undefined, cookie?: string) {
    const body = fields === undefined ? undefined : Buffer.from(JSON.stringify(fields))
    const headers: ReadonlyArray<readonly [string, string]> = [
      ["origin", origin],
      ...(body === undefined ? [] : [["content-type", "application/json"] as const]),
      ...(cookie === undefined ? [] : [["cookie", cookie] as const])
    ]
    const own = { listener: "public", as: [], from: Exchange.ownAddress(++calls) } as const
    const reply = yield* exchange(port, { ...own, method, path, headers, body }, headers)
    if (reply.status === undefined || reply.status >= 400)
      return yield* Effect.fail(new Error(`${method} ${path}: ${reply.status ?? reply.error} ${reply.text}`))
    const [cookies = ""] = reply.headers["set-cookie"] ?? []
    return { cookie: cookies.split(";", 1).join(""), json: reply.text === "" ? {} : JSON.parse(reply.text) }
  })
}

export type Call = ReturnType<typeof callerOf>

let people = 0

/** Signs up a new user. */
export const newPerson = Effect.fnUntraced(function* (call: Call) {
  const email = `person${++people}@example.com`
  const { cookie } = yield* call("POST", "/api/auth/sign-up/email", { email, password, name: "A Person" })
  return { email, cookie }
})

const walletKey = "in the wallet"

export const make = Effect.fnUntraced(function* (call: Call, cookie: string) {
  const newKey = (type: string) =>
    Effect.map(
      call("POST", "/v1/api-keys", { name: walletKey, type }, cookie),
      ({ json }) => json as { readonly id: string; readonly secret: string }
    )
  const [live, test, revoked] = [yield* newKey("live"), yield* newKey("test"), yield* newKey("live")]
  yield* call("DELETE", `/v1/api-keys/${revoked.id}`, undefined, cookie)
  const bearer = (secret: string): RandomRequest["headers"] => [["authorization", `Bearer ${secret}`]]
  const wallet: Wallet = {
    live: bearer(live.secret),
    test: bearer(test.secret),
    revoked: bearer(revoked.secret),
    garbage: bearer("sk_live_0123456789abcdef"),
    session: [["cookie", cookie]],
    demo: [["x-demo-origin", demoOrigin]],
    marketplace: [
      ["x-marketplace-proxy-secret", marketplaceSecret],
      ["x-marketplace-user", "subscriber"]
    ]
  }
  return wallet
})

/** Ids that requests may change and delete. */
export interface Spare {
  readonly key: string
  readonly hook: string
}

/** Creates a key and a webhook that requests may change and delete. */
export const makeSpare = Effect.fnUntraced(function* (call: Call, cookie: string) {
  const { json: key } = yield* call("POST", "/v1/api-keys", { name: "spare" }, cookie)
  const { json: hook } = yield* call("POST", "/v1/webhooks", { url: "http://127.0.0.1:9/" }, cookie)
  const spare: Spare = { key: key.id, hook: hook.id }
  return spare
})

/** Removes the keys and webhooks that requests created, because their number per account is limited. */
export const removeOthers = Effect.fnUntraced(function* (call: Call, cookie: string) {
  const { json } = yield* call("GET", "/v1/api-keys", undefined, cookie)
  const keys: ReadonlyArray<{ readonly id: string; readonly name: string; readonly revoked_at: string | null }> =
    json.api_keys
  for (const { id, name, revoked_at } of keys) {
    if (name !== walletKey && revoked_at === null) yield* call("DELETE", `/v1/api-keys/${id}`, undefined, cookie)
  }
  const { json: hooks } = yield* call("GET", "/v1/webhooks", undefined, cookie)
  for (const { id } of hooks.webhooks) yield* call("DELETE", `/v1/webhooks/${id}`, undefined, cookie)
})

export const withSpare = (request: RandomRequest, { hook, key }: Spare): RandomRequest => ({
  ...request,
  path: request.path.replaceAll(spareKey, key).replaceAll(spareHook, hook)
})

/** Returns true for a request that may end its session, delete its account, or export the whole account. */
const usesDisposable = ({ path }: RandomRequest): boolean => /auth|account|session/i.test(path)

/** Returns the headers of a request with its credentials. */
export const headersOf = (
  request: RandomRequest,
  { disposable, origin, wallet }: { readonly wallet: Wallet; readonly origin: string; readonly disposable: string }
): RandomRequest["headers"] => {
  const session = usesDisposable(request) ? [["cookie", disposable] as const] : wallet.session
  const carried = request.as.flatMap((it) => (it === "session" ? session : wallet[it]))
  return [...request.headers, ...carried].map(([name, value]) => [name, value === "SELF" ? origin : value] as const)
}
