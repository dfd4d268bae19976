import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Logger, Tracer } from "effect"
import { HttpMiddleware } from "effect/http"
import * as SpanTracer from "../../../src/layers/telemetry/spans/SpanTracer.ts"
import { QueryLog } from "../../../src/services/charging/QueryLog.ts"
import { currentCall, post, toolCall } from "../../support/api/Mcp.ts"
import { aCaller, found, providing, services } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"
import { advance } from "../../support/Time.ts"

const layer = services(providing(() => Effect.succeed(found(1))))

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

const assertNotFound = (answer: TestApi.Answer) => {
  assert.strictEqual(answer.status, 404)
  assert.strictEqual(answer.json.error, "not_found")
  assert.strictEqual(answer.json.request_id, answer.headers.get("x-request-id"))
  assert.isNull(answer.headers.get("x-ratelimit-limit"))
}

describe("R2: X-Request-Id", () => {
  const echoed = [
    "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    "F47AC10B-58CC-4372-A567-0E02B2C3D479",
    "0190f3b6-7c3e-7abc-8def-0123456789ab",
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-FFFF-ffff-ffff-ffffffffffff"
  ]
  for (const id of echoed) {
    it.effect(`echoes ${id} exactly as sent`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        const answer = yield* api.get("/v1/query", { "x-request-id": id })
        assert.strictEqual(answer.headers.get("x-request-id"), id)
        assert.strictEqual(answer.json.request_id, id)
      }).pipe(Effect.provide(layer))
    )
  }

  const replaced: ReadonlyArray<readonly [string, string]> = [
    ["an empty value", ""],
    ["text", "hello"],
    ["two values", "6ba7b810-9dad-11d1-80b4-00c04fd430c8, 6ba7b810-9dad-11d1-80b4-00c04fd430c8"],
    ["a UUID in braces", "{6ba7b810-9dad-11d1-80b4-00c04fd430c8}"],
    ["a UUID without hyphens", "6ba7b8109dad11d180b400c04fd430c8"],
    ["200 kB", "x".repeat(200_000)]
  ]
  for (const [name, id] of replaced) {
    it.effect(`replaces ${name} by a new UUID`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        const one = yield* api.get("/v1/query", { "x-request-id": id })
        const two = yield* api.get("/v1/query", { "x-request-id": id })
        assert.match(one.headers.get("x-request-id") ?? "", uuid)
        assert.notStrictEqual(one.headers.get("x-request-id"), two.headers.get("x-request-id"))
      }).pipe(Effect.provide(layer))
    )
  }

  for (const path of ["/openapi.json", "/docs", "/", "/v1/nothing", "/v1/query", "/v1/me", "/v1/bulk", "/mcp"]) {
    it.effect(`is on every response of ${path}`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        for (const method of ["GET", "POST", "DELETE"]) {
          assert.match((yield* api.send(method, path)).headers.get("x-request-id") ?? "", uuid)
        }
      }).pipe(Effect.provide(layer))
    )
  }
})

describe("R3: what is not listed is 404 not_found", () => {
  const unlisted: ReadonlyArray<readonly [string, string]> = [
    ["GET", "/"],
    ["GET", "/v1"],
    ["GET", "/v2/query?query=a"],
    ["GET", "/v1/query/"],
    ["GET", "//v1/query"],
    ["GET", "/V1/query"],
    ["GET", "/v1/query/x"],
    ["GET", "/v1/%ZZ"],
    ["GET", "/v1/%71uery?query=a"],
    ["GET", "/v1/query;query=a"],
    ["GET", "/v1/query;x=y?query=a"],
    ["GET", "/v1/query%3Fquery=a"],
    ["GET", "/v1/%6De"],
    ["GET", "/v1/bulk"],
    ["GET", "/metrics"],
    ["GET", "/healthz"],
    ["POST", "/v1/query?query=a"],
    ["PUT", "/v1/bulk"],
    ["PATCH", "/v1/me"],
    ["DELETE", "/v1/query"],
    ["OPTIONS", "/v1/query"],
    ["POST", "/openapi.json"]
  ]
  for (const [method, path] of unlisted) {
    it.effect(`${method} ${path}`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        assertNotFound(yield* api.send(method, path))
      }).pipe(Effect.provide(layer))
    )
  }

  for (const path of ["/v1/query?query=a", "/v1/me", "/v1/bulk", "/v1/api-keys", "/mcp", "/docs/x"]) {
    it.effect(`HEAD ${path} runs nothing`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        const answer = yield* api.send("HEAD", path)
        assert.strictEqual(answer.status, 404)
        assert.strictEqual(answer.text, "")
      }).pipe(Effect.provide(layer))
    )
  }

  for (const path of ["/oauth/confirm?token=unknown", "/v1/webhooks/unsubscribe?token=unknown"]) {
    it.effect(`HEAD ${path}, the link in an email, is answered as GET is`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        const [head, get] = [yield* api.send("HEAD", path), yield* api.get(path)]
        assert.strictEqual(head.status, get.status)
        assert.notStrictEqual(head.status, 404)
        assert.strictEqual(head.text, "")
      }).pipe(Effect.provide(layer))
    )
  }

  for (const path of ["/openapi.json", "/docs"]) {
    it.effect(`HEAD ${path} has the headers of GET, and no body`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        const head = yield* api.send("HEAD", path)
        const get = yield* api.get(path)
        assert.strictEqual(head.status, 200)
        assert.strictEqual(head.text, "")
        assert.strictEqual(head.headers.get("content-length"), String(Buffer.byteLength(get.text)))
        assert.strictEqual(head.headers.get("content-type"), get.headers.get("content-type"))
      }).pipe(Effect.provide(layer))
    )
  }
})

describe("GET /docs", () => {
  it.effect("is served whole from the package: no script, style or font of another host", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const answer = yield* api.get("/docs")
      assert.strictEqual(answer.status, 200)
      assert.match(answer.headers.get("content-type") ?? "", /^text\/html/)
      assert.notMatch(answer.text, /<(?:script|link)[^>]+(?:src|href)="https?:/i)
      assert.include(answer.text, "/v1/query")
    }).pipe(Effect.provide(layer))
  )
})

describe("a 500", () => {
  it.effect("R1, R35: has the ids of the request and its trace, and no header about limits or credits", () => {
    const tracer = SpanTracer.make({ sampling: () => true, onEnd: () => {} })
    return Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "trial" })
      const api = yield* TestApi.make
      const answer = yield* api.get("/v1/query?query=a", caller.auth)
      assert.strictEqual(answer.status, 500)
      assert.match(answer.headers.get("traceresponse") ?? "", /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
      assert.deepStrictEqual(TestApi.apiHeaders(answer), ["x-request-id"])
    }).pipe(
      Effect.provideService(Tracer.Tracer, tracer),
      Effect.provide(services(providing(() => Effect.die("broken"))))
    )
  })
})

describe("a trace", () => {
  it.effect("that begins here has the ID of its request, so that the log finds it; others keep theirs", () => {
    const tracer = SpanTracer.make({ sampling: () => true, onEnd: () => {} })
    const remote = "0af7651916cd43dd8448eb211c80319c"
    const own = "0b9f6c1e-8d6f-4c7e-9b58-2f6d7a1c3e55"
    return Effect.gen(function* () {
      const api = yield* TestApi.make
      const traceOf = (answer: TestApi.Answer) => (answer.headers.get("traceresponse") ?? "").split("-")[1]
      const begun = yield* api.get("/docs")
      assert.strictEqual(traceOf(begun), begun.headers.get("x-request-id")?.replaceAll("-", ""))
      const continued = yield* api.get("/docs", { traceparent: `00-${remote}-b7ad6b7169203331-01` })
      assert.strictEqual(traceOf(continued), remote)
      const repeated = yield* api.get("/docs", { "x-request-id": own })
      assert.match(traceOf(repeated) ?? "", /^[0-9a-f]{32}$/)
      assert.notStrictEqual(traceOf(repeated), own.replaceAll("-", ""))
    }).pipe(
      Effect.provideService(Tracer.Tracer, tracer),
      // As in the server: the library would put a span of its own around the request.
      Effect.provideService(HttpMiddleware.TracerDisabledWhen, () => true),
      Effect.provide(layer)
    )
  })
})

describe("the log", () => {
  for (const tail of [";query=css+grid", "%3Fquery=css+grid", "?query=css+grid", "%23css"]) {
    it.effect(`R3: shows of /v1/query${tail} the path alone`, () => {
      const lines: Array<string> = []
      const logger = Logger.map(Logger.formatJson, (line) => void lines.push(line))
      return Effect.gen(function* () {
        const api = yield* TestApi.make
        yield* api.get(`/v1/query${tail}`)
        assert.strictEqual(lines.length, 1)
        assert.include(lines[0], "/v1/query")
        assert.notInclude(lines[0], "css")
      }).pipe(Effect.provide(layer), Effect.provide(Logger.layer([logger])))
    })
  }

  it.effect("I4: a caller who leaves first is one line, client_closed and without a status; the search goes on", () => {
    const lines: Array<Record<string, unknown>> = []
    const logger = Logger.map(Logger.formatStructured, ({ annotations }) => void lines.push(annotations))
    return Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "trial" })
      const api = yield* TestApi.make
      const fiber = yield* Effect.forkChild(api.get("/v1/query?query=css+grid", caller.auth))
      yield* advance("1 second")
      yield* Fiber.interrupt(fiber)
      yield* advance("5 seconds")
      const [line, ...others] = lines.filter(({ path }) => path === "/v1/query")
      assert.deepStrictEqual(others, [])
      assert.deepInclude(line, {
        outcome: "client_closed",
        principal: "key",
        account_id: caller.account.id,
        duration_ms: 1000,
        credits: 1,
        cached: false,
        search_ms: 3000,
        settle_ms: 0
      })
      assert.notProperty(line, "status")
      const logged = yield* Effect.flatMap(QueryLog, (log) => log.recent(caller.account.id, 10))
      assert.deepStrictEqual(
        logged.map(({ outcome }) => outcome),
        ["ok"]
      )
    }).pipe(
      Effect.provide(services(providing(() => Effect.as(Effect.sleep("3 seconds"), found(1))))),
      Effect.provide(Logger.layer([logger]))
    )
  })

  it.effect("I2: the line of a batch that a proxy cut has its id and what was charged, once it is settled", () => {
    const lines: Array<Record<string, unknown>> = []
    const logger = Logger.map(Logger.formatStructured, ({ annotations }) => void lines.push(annotations))
    return Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "trial" })
      const api = yield* TestApi.make
      const queries = Array.from({ length: 12 }, (_, index) => `query ${index}`)
      const init = {
        body: JSON.stringify({ target: "alpha_search", queries: [...queries, ""] }),
        headers: { ...caller.auth, "content-type": "application/json" }
      }
      const fiber = yield* Effect.forkChild(api.send("POST", "/v1/bulk", init))
      yield* advance("4 seconds")
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(lines, [])
      yield* advance("5 seconds")
      const log = yield* Effect.flatMap(QueryLog, (log) => log.recent(caller.account.id, 20))
      // The trial runs five rows at a time: five had ended, and five were sent.
      assert.strictEqual(log.length, 10)
      assert.strictEqual(lines.length, 1)
      assert.deepInclude(lines[0], {
        path: "/v1/bulk",
        outcome: "client_closed",
        duration_ms: 4000,
        batch_id: log[0]?.batchId,
        rows: 13,
        rows_failed: 3,
        credits: 10
      })
    }).pipe(
      Effect.provide(services(providing(() => Effect.as(Effect.sleep("3 seconds"), found(1))))),
      Effect.provide(Logger.layer([logger]))
    )
  })

  it.effect("I2: the line of an agent's call has what its search cost, in each revision", () => {
    const lines: Array<Record<string, unknown>> = []
    const logger = Logger.map(Logger.formatStructured, ({ annotations }) => void lines.push(annotations))
    return Effect.gen(function* () {
      const { auth } = yield* aCaller({ plan: "trial" })
      const api = yield* TestApi.make
      const current = currentCall("web_search", { query: "css grid" })
      yield* post(api, { ...auth, ...current.headers }, current.body)
      yield* post(api, auth, toolCall("web_search", { query: "css flex" }))
      const charges = lines.filter(({ path }) => path === "/mcp").map(({ credits, target }) => ({ credits, target }))
      assert.deepStrictEqual(charges, Array(2).fill({ credits: 1, target: "alpha_search" }))
    }).pipe(Effect.provide(layer), Effect.provide(Logger.layer([logger])))
  })
})
