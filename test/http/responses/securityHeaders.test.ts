import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Deployment } from "../../../src/services/operations/Deployment.ts"
import { SignedIn } from "../../../src/testing/SessionsMemory.ts"
import { aCaller, demoOrigin, found, providing, services } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"

const layer = services(providing(({ query }) => (query === "boom" ? Effect.die("boom") : Effect.succeed(found(1)))))

const layerAt = (origin: string) =>
  Layer.succeed(Deployment, { origin, demoOrigin, corsOrigins: [] }).pipe(Layer.provideMerge(layer))

const post = (body: string, headers: Record<string, string>) => ({
  body,
  headers: { "content-type": "application/json", ...headers }
})

const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'

describe("headers that protect answers in browsers and caches", () => {
  it.effect("what may hold an account's data is kept by no cache, refusals and faults included", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { account, auth } = yield* aCaller({ plan: "trial" })
      const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(account))
      const answers = yield* Effect.all([
        api.get("/v1/query?query=a", auth),
        api.get("/v1/query?query=", auth),
        api.get("/v1/query?query=boom", auth),
        api.get("/v1/me"),
        api.get("/v1/usage", { cookie }),
        api.get("/v1/account/export", { cookie }),
        api.send("POST", "/v1/bulk", post('{"queries":["a"]}', auth)),
        api.send("POST", "/mcp", post(ping, auth)),
        api.send("POST", "/mcp", post(ping, { ...auth, accept: "text/event-stream" })),
        api.get("/api/auth/get-session", { cookie }),
        api.get("/nothing")
      ])
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 400, 500, 401, 200, 200, 200, 200, 200, 404, 404]
      )
      for (const { headers } of answers) {
        assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
        assert.match(headers.get("cache-control") ?? "", /^no-store(?:, no-transform)?$/)
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("what is for everybody may be kept, and says itself how long", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      for (const path of ["/docs", "/openapi.json"]) {
        const { headers } = yield* api.get(path)
        assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
        assert.strictEqual(headers.get("cache-control"), "no-cache")
      }
    }).pipe(Effect.provide(layer))
  )

  for (const [origin, expected] of [
    ["https://quarry.test", "max-age=31536000"],
    ["http://quarry.test", null]
  ] as const) {
    it.effect(`Strict-Transport-Security is ${expected} where the service is reached at ${origin}`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        for (const path of ["/v1/me", "/docs", "/nothing"]) {
          const { headers } = yield* api.get(path)
          assert.strictEqual(headers.get("strict-transport-security"), expected, path)
        }
      }).pipe(Effect.provide(layerAt(origin)))
    )
  }
})

describe("R1: WWW-Authenticate on a 401 (RFC 9110, 15.5.2)", () => {
  it.effect("names the scheme of keys where keys are taken, and says when a token was refused", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      for (const path of ["/v1/query?query=a", "/v1/me"]) {
        const bare = yield* api.get(path)
        assert.deepStrictEqual([bare.status, bare.headers.get("www-authenticate")], [401, 'Bearer realm="quarry"'])
        const refused = yield* api.get(path, { authorization: "Bearer sk_live_x" })
        assert.strictEqual(refused.headers.get("www-authenticate"), 'Bearer realm="quarry", error="invalid_token"')
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("R25: names no scheme where only a session is taken: a key would be refused there", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { auth } = yield* aCaller({ plan: "trial" })
      const refused = yield* api.get("/v1/usage", auth)
      assert.deepStrictEqual([refused.status, refused.headers.get("www-authenticate")], [401, null])
    }).pipe(Effect.provide(layer))
  )
})
