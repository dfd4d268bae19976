import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { aCaller, found, providing, services } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"

const everything = services(providing(() => Effect.succeed(found(1))))

const calling = Effect.gen(function* () {
  const api = yield* TestApi.make
  const { auth } = yield* aCaller({ plan: "growth" })
  const headers = { ...auth, "content-type": "application/json" }
  const message = ({ json }: TestApi.Answer): string => json.message
  return {
    get: (path: string) => Effect.map(api.get(path, auth), message),
    post: (path: string, body: object) =>
      Effect.map(api.send("POST", path, { headers, body: JSON.stringify(body) }), message),
    send: (method: string, path: string) => Effect.map(api.send(method, path, { headers: auth }), ({ json }) => json)
  }
})

describe("errors that say what to do (R71)", () => {
  it.effect("a missing parameter names the unknown parameter that was probably meant", () =>
    Effect.gen(function* () {
      const { get, post } = yield* calling
      for (const name of ["q", "qeury", "search", "Query"]) {
        assert.include(yield* get(`/v1/query?${name}=css`), `query is required; you sent \`${name}\` instead`)
      }
      assert.include(yield* post("/v1/bulk", { query: ["a"] }), "you sent `query` instead")
      assert.include(yield* get("/v1/page?link=https://example.org"), "you sent `link` instead")
      assert.strictEqual(yield* get("/v1/query?utm_source=a&debug=1"), "The request is invalid: query is required")
      assert.strictEqual(yield* get("/v1/query"), "The request is invalid: query is required")
      assert.notInclude(yield* get("/v1/query?query=&q=css"), "did you mean")
    }).pipe(Effect.provide(everything))
  )

  it.effect("a known path with another method says which it has, and stays 404 (R3)", () =>
    Effect.gen(function* () {
      const { send } = yield* calling
      for (const [method, path, message] of [
        ["POST", "/v1/query", "/v1/query has no POST. It is a GET route."],
        ["GET", "/v1/bulk", "/v1/bulk has no GET. It is a POST route."],
        ["PUT", "/v1/api-keys", "/v1/api-keys has no PUT. It is a GET and POST route."],
        ["POST", "/v1/nothing", "There is no route at this address. GET /openapi.json lists the available routes."]
      ] as const) {
        assert.deepInclude(yield* send(method, path), { error: "not_found", message })
      }
    }).pipe(Effect.provide(everything))
  )

  it.effect("an address with a slip names the route that was probably meant, and stays 404 (R3)", () =>
    Effect.gen(function* () {
      const { send } = yield* calling
      for (const [method, path, probable] of [
        ["GET", "/query", "GET /v1/query"],
        ["GET", "/V1//Usage", "GET /v1/usage"],
        ["POST", "/v1/api-keys/", "POST /v1/api-keys"],
        ["DELETE", "/api-keys", "GET /v1/api-keys"],
        ["GET", "/search", "GET /v1/query"]
      ] as const) {
        const message = `There is no ${method} ${path}. Did you mean ${probable}? GET /openapi.json lists the available routes.`
        assert.deepInclude(yield* send(method, path), { error: "not_found", message })
      }
    }).pipe(Effect.provide(everything))
  )

  it.effect("a country by its common name is answered with its code", () =>
    Effect.gen(function* () {
      const { get } = yield* calling
      assert.include(yield* get("/v1/query?query=css&geo=uk"), "Did you mean gb?")
    }).pipe(Effect.provide(everything))
  )
})
