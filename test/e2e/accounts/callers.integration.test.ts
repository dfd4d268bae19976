import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { startServer } from "../../support/processes/Spawned.ts"
import * as EmbeddedStore from "../../support/stores/EmbeddedStore.ts"

const demoOrigin = "https://www.example.com"
const marketplace = { "x-marketplace-proxy-secret": "new secret", "x-marketplace-user": "ada" }

describe("callers over real HTTP", () => {
  it.live(
    "the demo, a subscriber and a person with their keys are admitted, and nothing of a deleted person is",
    () =>
      Effect.gen(function* () {
        const { origin } = yield* startServer({
          DATA_DIR: yield* EmbeddedStore.directory,
          DEMO_ORIGIN: demoOrigin,
          MARKETPLACE_PROXY_SECRET: "old secret,new secret",
          MARKETPLACE_PLAN: "growth"
        })
        const send = (method: string, path: string, headers: Record<string, string>, body?: unknown) =>
          Effect.promise(async () => {
            const type: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" }
            const response = await fetch(`${origin}${path}`, {
              method,
              headers: { ...type, ...headers },
              body: body === undefined ? null : JSON.stringify(body)
            })
            const text = await response.text()
            return { status: response.status, headers: response.headers, text }
          })
        const statusOf = (path: string, headers: Record<string, string>) =>
          Effect.map(send("GET", path, headers), ({ status }) => status)
        const search = "/v1/query?query=http"

        // The socket's own address is the demo's: what a client forwards is not believed.
        for (let n = 0; n < 5; n++) {
          const forged = { "x-demo-origin": demoOrigin, "x-forwarded-for": `192.0.2.${n}` }
          assert.strictEqual(yield* statusOf(search, forged), 200)
        }
        assert.strictEqual(yield* statusOf(search, { "x-demo-origin": demoOrigin }), 429)

        const subscriber = yield* send("GET", search, marketplace)
        assert.strictEqual(subscriber.status, 200)
        assert.isNull(subscriber.headers.get("x-quota-limit"))
        assert.strictEqual(yield* statusOf(search, { ...marketplace, "x-marketplace-proxy-secret": "a secret" }), 401)

        const person = { email: "person@example.com", password: "correct horse battery staple", name: "A Person" }
        const signUp = yield* send("POST", "/api/auth/sign-up/email", { origin }, person)
        const cookie = signUp.headers.getSetCookie()[0]?.split(";", 1).join("") ?? ""
        const issued = yield* send("POST", "/v1/api-keys", { origin, cookie }, { name: "CI" })
        assert.strictEqual(issued.status, 201)
        const key = { authorization: `Bearer ${JSON.parse(issued.text).secret}` }
        assert.strictEqual(yield* statusOf(search, key), 200)
        assert.strictEqual(yield* statusOf(search, { cookie }), 200)
        assert.strictEqual(yield* statusOf("/v1/usage", key), 401)
        assert.strictEqual(yield* statusOf("/v1/usage", { cookie }), 200)
        const exported = yield* send("GET", "/v1/account/export", { cookie })
        assert.strictEqual(JSON.parse(exported.text).queries.length, 2)

        assert.strictEqual((yield* send("DELETE", "/v1/account", { cookie })).status, 401)
        assert.strictEqual((yield* send("DELETE", "/v1/account", { cookie, origin })).status, 204)
        assert.strictEqual(yield* statusOf("/v1/me", { cookie }), 401)
        for (const path of ["/v1/me", search]) assert.strictEqual(yield* statusOf(path, key), 401, path)
        const signIn = yield* send("POST", "/api/auth/sign-in/email", { origin }, person)
        assert.strictEqual(signIn.status, 401)
        // The trial goes on where it was left.
        const again = yield* send("POST", "/api/auth/sign-up/email", { origin }, person)
        const returned = again.headers.getSetCookie()[0]?.split(";", 1).join("") ?? ""
        const usage = yield* send("GET", "/v1/usage", { cookie: returned })
        assert.strictEqual(JSON.parse(usage.text).used, 2)
        assert.deepStrictEqual(
          JSON.parse((yield* send("GET", "/v1/query/recent", { cookie: returned })).text).queries,
          []
        )
      }),
    120_000
  )
})
