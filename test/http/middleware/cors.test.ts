import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { exposedHeaders } from "../../../src/http/headerNames.ts"
import { headers } from "../../../src/http/openapi/completeDocument.ts"
import { Deployment } from "../../../src/services/operations/Deployment.ts"
import { aCaller, demoOrigin, found, providing, servicesOver } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"
import * as MemoryStorage from "../../support/stores/MemoryStorage.ts"

const app = "https://app.example.com"
const foreign = "https://evil.example.com"

const providers = providing(({ query }) => (query === "boom" ? Effect.die("boom") : Effect.succeed(found(1))))

const layer = servicesOver(MemoryStorage.layer, providers, { demoOrigin, corsOrigins: [app] })

const closed = Layer.succeed(Deployment, { origin: "http://quarry.test", demoOrigin: undefined, corsOrigins: [] }).pipe(
  Layer.provideMerge(layer)
)

const corsHeaders = ({ headers }: TestApi.Answer) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith("access-control-") || name === "vary"))

const preflight = (path: string, origin: string | undefined, method: string | undefined) =>
  Effect.flatMap(TestApi.make, (api) =>
    api.send("OPTIONS", path, {
      headers: {
        ...(origin === undefined ? {} : { origin }),
        ...(method === undefined ? {} : { "access-control-request-method": method }),
        "access-control-request-headers": "authorization,content-type,x-quarry-dashboard"
      }
    })
  )

describe("R48: pages of other origins", () => {
  for (const origin of [app, demoOrigin]) {
    it.effect(`${origin} reads every answer of the three operations, with the API's headers`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        const { auth } = yield* aCaller({ plan: "trial" })
        const answers = [
          yield* api.get("/v1/query?query=a", { ...auth, origin }),
          yield* api.get("/v1/query?query=", { ...auth, origin }),
          yield* api.get("/v1/query?query=boom", { ...auth, origin }),
          yield* api.get("/v1/me", { ...auth, origin }),
          yield* api.get("/v1/me", { origin }),
          yield* api.send("POST", "/v1/bulk", { headers: { ...auth, origin }, body: "no type" })
        ]
        assert.deepStrictEqual(
          answers.map(({ status }) => status),
          [200, 400, 500, 200, 401, 400]
        )
        for (const answer of answers) {
          assert.deepStrictEqual(corsHeaders(answer), {
            "access-control-allow-origin": origin,
            "access-control-expose-headers": exposedHeaders.join(", "),
            vary: "Origin"
          })
        }
      }).pipe(Effect.provide(layer))
    )
  }

  it.effect("a preflight is answered before credential and rate limit, and never allows X-Quarry-Dashboard (R25)", () =>
    Effect.gen(function* () {
      for (const [path, method] of [
        ["/v1/query?query=a", "GET"],
        ["/v1/bulk", "POST"],
        ["/v1/me", "GET"]
      ] as const) {
        const answer = yield* preflight(path, app, method)
        assert.strictEqual(answer.status, 204, path)
        assert.strictEqual(answer.text, "")
        assert.deepStrictEqual(corsHeaders(answer), {
          "access-control-allow-origin": app,
          "access-control-allow-methods": method,
          "access-control-allow-headers":
            "Authorization, Content-Type, Idempotency-Key, Traceparent, Tracestate, X-Demo-Origin, X-Request-Id",
          "access-control-max-age": "7200",
          vary: "Origin"
        })
        assert.deepStrictEqual(TestApi.apiHeaders(answer), ["x-request-id"])
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("programs in the operator's pages call /mcp, register and get tokens, by bearer and never by cookie", () =>
    Effect.gen(function* () {
      for (const [path, method, methods] of [
        ["/mcp?tools=search", "POST", "POST, GET, DELETE"],
        ["/mcp", "DELETE", "POST, GET, DELETE"],
        ["/api/auth/oauth2/register", "POST", "POST"],
        ["/api/auth/oauth2/token", "POST", "POST"]
      ] as const) {
        const answer = yield* preflight(path, app, method)
        assert.strictEqual(answer.status, 204, path)
        const { "access-control-allow-headers": headers, ...others } = corsHeaders(answer)
        assert.deepStrictEqual(others, {
          "access-control-allow-origin": app,
          "access-control-allow-methods": methods,
          "access-control-max-age": "7200",
          vary: "Origin"
        })
        for (const name of ["Authorization", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id"]) {
          assert.include((headers ?? "").split(", "), name)
        }
      }
      const api = yield* TestApi.make
      const { auth } = yield* aCaller({ plan: "trial" })
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })
      const send = (headers: Record<string, string>) =>
        api.send("POST", "/mcp", { headers: { "content-type": "application/json", origin: app, ...headers }, body })
      const right = yield* send(auth)
      const wrong = yield* send({ cookie: "quarry.session_token=right" })
      assert.deepStrictEqual([right.status, wrong.status], [200, 401])
      for (const answer of [right, wrong]) {
        const cors = corsHeaders(answer)
        assert.strictEqual(cors["access-control-allow-origin"], app)
        assert.include((cors["access-control-expose-headers"] ?? "").split(", "), "WWW-Authenticate")
        assert.notProperty(cors, "access-control-allow-credentials")
      }
      const other = yield* send({ ...auth, origin: demoOrigin })
      assert.deepStrictEqual([other.status, corsHeaders(other)], [403, { vary: "Origin" }])
    }).pipe(Effect.provide(layer))
  )

  for (const [name, path, origin, method] of [
    ["of another origin", "/v1/query", foreign, "GET"],
    ["of an origin that begins alike", "/v1/query", `${app}.evil.example`, "GET"],
    ["of two origins", "/v1/query", `${app}, ${app}`, "GET"],
    ["of a page without an origin", "/v1/query", "null", "GET"],
    ["without Origin", "/v1/query", undefined, "GET"],
    ["without a method", "/v1/query", app, undefined],
    ["for another method", "/v1/query", app, "POST"],
    ["for a session's route", "/v1/usage", app, "GET"],
    ["for keys", "/v1/api-keys", app, "POST"],
    ["of the demo for agents", "/mcp", demoOrigin, "POST"],
    ["of the demo for tokens", "/api/auth/oauth2/token", demoOrigin, "POST"],
    ["for a person's sign-in", "/api/auth/sign-in/email", app, "POST"],
    ["for a consent", "/api/auth/oauth2/consent", app, "POST"],
    ["for another method of agents", "/mcp", app, "PUT"],
    ["for a path that is spelled otherwise", "/v1/%71uery", app, "GET"],
    ["for a path that is not there", "/v1/nothing", app, "GET"]
  ] as const) {
    it.effect(`an OPTIONS ${name} is 404 with no CORS header`, () =>
      Effect.gen(function* () {
        const answer = yield* preflight(path, origin, method)
        assert.strictEqual(answer.status, 404)
        assert.strictEqual(answer.json.error, "not_found")
        assert.deepStrictEqual(corsHeaders(answer), {})
      }).pipe(Effect.provide(layer))
    )
  }

  it.effect("other origins and other routes get no CORS header, and caches know that answers differ", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { auth } = yield* aCaller({ plan: "trial" })
      for (const origin of [{ origin: foreign }, { origin: "null" }, {}]) {
        const answer = yield* api.get("/v1/me", { ...auth, ...origin })
        assert.strictEqual(answer.status, 200, "a caller other than a browser gets the usual response")
        assert.deepStrictEqual(corsHeaders(answer), { vary: "Origin" })
      }
      for (const path of ["/openapi.json", "/v1/usage", "/v1/me/", "/v1/nothing"]) {
        const { "access-control-allow-origin": allowed } = corsHeaders(yield* api.get(path, { ...auth, origin: app }))
        assert.isUndefined(allowed, path)
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("without an origin that may call, nothing differs by Origin", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { auth } = yield* aCaller({ plan: "trial" })
      assert.deepStrictEqual(corsHeaders(yield* api.get("/v1/me", { ...auth, origin: app })), {})
      assert.strictEqual((yield* preflight("/v1/me", app, "GET")).status, 404)
    }).pipe(Effect.provide(closed))
  )

  it("exposes each header that the document names for a response", () => {
    assert.sameMembers(
      [...exposedHeaders],
      Object.keys(headers).filter((name) => name !== "Content-Disposition")
    )
  })
})
