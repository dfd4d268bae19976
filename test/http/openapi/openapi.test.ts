import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { BillingBusy, BillingUnavailable, UpstreamError, UpstreamTimeout } from "../../../src/domain/errors.ts"
import { describeApi } from "../../../src/http/Api.ts"
import { SignedIn } from "../../../src/testing/SessionsMemory.ts"
import * as BillingStub from "../../support/accounts/BillingStub.ts"
import { aCaller, found, providing, services, servicesOver } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"
import * as MemoryStorage from "../../support/stores/MemoryStorage.ts"

interface Json {
  readonly [key: string]: Json
}

// The document as it was read, to be looked into; every look is an assertion.
const committed = JSON.parse(readFileSync(new URL("../../../openapi.json", import.meta.url), "utf8")) as Json

const at = (value: unknown, ...path: ReadonlyArray<string>): Json =>
  path.reduce<Json>((node, key) => {
    const next = node[key]
    assert.isDefined(next, path.join("."))
    return next as Json
  }, value as Json)

const resolve = (schema: Json): Json => {
  const reference = schema.$ref as unknown
  return typeof reference === "string" ? at(committed, ...reference.slice(2).split("/")) : schema
}

/** The parts of JSON Schema that the document uses. */
interface DocumentSchema {
  readonly anyOf?: ReadonlyArray<DocumentSchema>
  readonly enum?: ReadonlyArray<unknown>
  readonly items?: DocumentSchema
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, DocumentSchema>>
  readonly required?: ReadonlyArray<string>
  readonly type?: string
}

/** Says where a value is not what a schema of the document allows. */
const mismatch = (value: unknown, given: unknown, path = "$"): string | undefined => {
  const schema: DocumentSchema = resolve(given as Json)
  if (schema.anyOf !== undefined) {
    const all = schema.anyOf.map((option) => mismatch(value, option, path))
    return all.some((one) => one === undefined) ? undefined : all.join(" and ")
  }
  if (schema.enum !== undefined && !schema.enum.includes(value)) return `${path}: ${value} is none of ${schema.enum}`
  switch (schema.type) {
    case "object":
      return typeof value === "object" && value !== null ? objectMismatch(value, schema, path) : `${path}: no object`
    case "array":
      if (!Array.isArray(value)) return `${path}: no array`
      return value.map((item, i) => mismatch(item, schema.items, `${path}[${i}]`)).find((wrong) => wrong !== undefined)
    case "integer":
      return Number.isInteger(value) ? undefined : `${path}: no integer`
    case "null":
      return value === null ? undefined : `${path}: not null`
    case "string":
      if (typeof value !== "string") return `${path}: no string`
      return new RegExp(schema.pattern ?? "").test(value) ? undefined : `${path}: ${value} is not ${schema.pattern}`
    default:
      return typeof value === schema.type ? undefined : `${path}: no ${schema.type}`
  }
}

const objectMismatch = (value: object, schema: DocumentSchema, path: string): string | undefined => {
  const missing = (schema.required ?? []).find((key) => !(key in value))
  if (missing !== undefined) return `${path}.${missing}: missing`
  if (schema.properties === undefined) return undefined
  return Object.entries(value)
    .map(([key, item]) => {
      const property = schema.properties?.[key]
      return property === undefined ? `${path}.${key}: not documented` : mismatch(item, property, `${path}.${key}`)
    })
    .find((wrong) => wrong !== undefined)
}

/** The template of a path that holds an id. */
const templateOf = (path: string): string =>
  path
    .split("?", 1)
    .join("")
    .replace(/(?:key|mem|whk)_[0-9a-f]{32}/, "{id}")
    .replace(/deliveries\/[^/]+/, "deliveries/{delivery}")
    .replace(/sessions\/.+/, "sessions/{session_id}")
    .replace(/apps\/.+/, "apps/{app_id}")

/** Checks that a response has the body and exactly the headers that the document gives its status. */
const assertDocumented = (answer: TestApi.Answer, path: string, method: string) => {
  const response = at(committed, "paths", path, method, "responses", String(answer.status))
  if (answer.status === 204 || answer.status === 202) assert.strictEqual(answer.text, "")
  else assert.isUndefined(mismatch(answer.json, at(response, "content", "application/json", "schema")))
  const documented = Object.keys(at(response, "headers")).map((name) => name.toLowerCase())
  const others = ["www-authenticate", "content-disposition"].filter((name) => answer.headers.has(name))
  // On a replay alone (R44), which the tests of idempotency look at.
  const always = documented.filter((name) => name !== "idempotent-replayed")
  assert.sameMembers([...TestApi.apiHeaders(answer), ...others], always)
}

describe("the API description", () => {
  it("is the committed file: `npm run openapi` writes it", () => {
    assert.deepStrictEqual(JSON.parse(JSON.stringify(describeApi())), committed)
  })

  it.effect("is served at /openapi.json without a credential, with the deployment's own address", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const served = (yield* api.get("/openapi.json")).json
      assert.deepStrictEqual(served.servers, [{ url: "http://quarry.test" }])
      assert.strictEqual(served.info.contact.url, "http://quarry.test")
      assert.deepStrictEqual({ ...served, servers: committed.servers, info: committed.info }, committed)
    }).pipe(Effect.provide(services(providing(() => Effect.succeed(found(1))))))
  )

  it("is OpenAPI 3.1 and has every operation with its id, statuses and security", () => {
    assert.match(String(committed.openapi), /^3\.1\./)
    const operations = Object.entries(at(committed, "paths")).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [
        `${method} ${path}`,
        Object.keys(at(operation, "responses")).join(" ")
      ])
    )
    assert.deepStrictEqual(Object.fromEntries(operations), {
      "get /v1/query": "200 400 401 402 403 409 429 500 502 504",
      "post /v1/bulk": "200 400 401 402 403 409 429 500",
      "get /v1/page": "200 400 401 402 403 409 422 429 500 502 504",
      "post /v1/pages": "200 400 401 402 403 409 429 500",
      "get /v1/me": "200 401 429 500",
      "get /v1/account/export": "200 401 403 429 500",
      "get /v1/account/events": "200 400 401 403 429 500",
      "delete /v1/account": "204 401 403 429 500",
      "get /v1/usage": "200 400 401 429 500",
      "get /v1/query/recent": "200 400 401 403 429 500",
      "get /v1/query/history": "200 400 401 403 429 500",
      "get /v1/api-keys": "200 401 403 429 500",
      "post /v1/api-keys": "201 400 401 403 429 500",
      "patch /v1/api-keys/{id}": "200 400 401 403 404 429 500",
      "delete /v1/api-keys/{id}": "204 401 403 404 429 500",
      "post /v1/api-keys/{id}/rotate": "200 400 401 403 404 429 500",
      "get /v1/sessions": "200 401 429 500",
      "delete /v1/sessions/{session_id}": "204 401 404 429 500",
      "get /v1/apps": "200 401 429 500",
      "delete /v1/apps/{app_id}": "204 401 404 429 500",
      "get /v1/session/account": "200 401 429 500",
      "post /v1/session/account": "204 400 401 404 429 500",
      "get /v1/members": "200 401 403 429 500",
      "post /v1/members": "201 400 401 403 429 500",
      "post /v1/members/{id}/resend": "200 401 403 404 429 500",
      "patch /v1/members/{id}": "200 400 401 403 404 409 429 500",
      "delete /v1/members/{id}": "204 401 403 404 409 429 500",
      "get /v1/billing": "200 401 403 429 500",
      "post /v1/billing/checkout": "201 400 401 403 409 429 500 503",
      "post /v1/billing/plan": "200 400 401 403 409 429 500 503",
      "post /v1/billing/packs": "201 400 401 403 409 429 500 503",
      "post /v1/billing/portal": "201 401 403 409 429 500 503",
      "post /v1/billing/sync": "200 400 401 403 429 500 503",
      "get /v1/webhooks": "200 401 403 429 500",
      "post /v1/webhooks": "201 400 401 403 429 500",
      "get /v1/webhooks/settings": "200 401 403 429 500",
      "patch /v1/webhooks/settings": "200 400 401 403 429 500",
      "patch /v1/webhooks/{id}": "200 400 401 403 404 429 500",
      "delete /v1/webhooks/{id}": "204 401 403 404 429 500",
      "post /v1/webhooks/{id}/test": "201 400 401 403 404 429 500",
      "post /v1/webhooks/{id}/rotate": "200 400 401 403 404 429 500",
      "get /v1/webhooks/{id}/deliveries": "200 400 401 403 404 429 500",
      "post /v1/webhooks/{id}/deliveries/{delivery}/redeliver": "201 400 401 403 404 429 500",
      "post /mcp": "200 202 400 401 403 429 500"
    })
  })

  it("R69: lists the key and the session, and not the headers of the demo and the marketplace", () => {
    const key = { apiKey: [] }
    const session = { session: [] }
    const searches = [key, session]
    const accepted: Record<string, unknown> = {
      "/v1/query": searches,
      "/v1/bulk": searches,
      "/v1/page": searches,
      "/v1/pages": searches,
      "/v1/me": searches,
      "/mcp": [key, { oauth: [] }, session]
    }
    for (const [path, methods] of Object.entries(at(committed, "paths"))) {
      for (const operation of Object.values(methods)) {
        assert.deepStrictEqual(operation.security as unknown, accepted[path] ?? [session], path)
      }
    }
    assert.sameMembers(Object.keys(at(committed, "components", "securitySchemes")), ["apiKey", "oauth", "session"])
  })

  it("R17: a batch's own num has no fixed default: the rows have one", () => {
    const num = at(committed, "components", "schemas", "BulkRequest", "properties", "num")
    assert.sameMembers(Object.keys(num), ["type", "minimum", "maximum", "description"])
  })

  it("gives each parameter of a search its type, bounds and default", () => {
    const parameters = at(committed, "paths", "/v1/query", "get", "parameters") as unknown as ReadonlyArray<Json>
    const table = parameters.map(({ name, required, schema }) => {
      const { default: fallback, maximum, maxLength, minimum, minLength, type } = schema as Record<string, unknown>
      return [name, required, type, minimum ?? minLength, maximum ?? maxLength, fallback]
    })
    assert.deepStrictEqual(table as unknown, [
      ["query", true, "string", 1, 400, undefined],
      ["target", false, "string", undefined, undefined, "alpha_search"],
      ["geo", false, "string", undefined, undefined, "us"],
      ["locale", false, "string", undefined, undefined, undefined],
      ["page", false, "integer", 1, 5, 1],
      ["num", false, "integer", 1, 20, 10],
      ["safe", false, "string", undefined, undefined, "off"],
      ["source", false, "string", undefined, undefined, undefined],
      ["freshness", false, "string", undefined, undefined, undefined],
      ["after", false, "string", undefined, undefined, undefined],
      ["before", false, "string", undefined, undefined, undefined],
      ["include_domains", false, "string", undefined, undefined, undefined],
      ["exclude_domains", false, "string", undefined, undefined, undefined],
      ["topic", false, "string", undefined, undefined, "web"],
      ["Idempotency-Key", false, "string", 1, 255, undefined]
    ])
  })

  it("R17: a row of a batch has no fixed default: a generated client would send it over the body's", () => {
    const body = at(committed, "components", "schemas", "BulkRequest", "properties")
    for (const [name, field] of Object.entries(body)) assert.notProperty(field, "default", name)
    const rows = at(committed, "components", "schemas", "BulkRow", "properties")
    for (const [name, field] of Object.entries(rows)) {
      assert.notProperty(field, "default", name)
      if (name !== "query") assert.include(String(field.description), "When absent, the body's", name)
    }
  })

  it("names where the service is, whom to ask and the license", () => {
    assert.deepStrictEqual(at(committed, "servers") as unknown, [{ url: "http://localhost:3000" }])
    assert.deepStrictEqual(at(committed, "info", "license") as unknown, { name: "MIT", identifier: "MIT" })
    at(committed, "info", "contact", "url")
  })

  it("gives each filter of the log its length or its form", () => {
    const parameters = at(committed, "paths", "/v1/query/history", "get", "parameters")
    const rules = (parameters as unknown as ReadonlyArray<Json>).map(({ name, schema }) => {
      const { format, maxLength, pattern } = schema as Record<string, unknown>
      return [name, pattern ?? maxLength ?? format]
    })
    assert.deepInclude(Object.fromEntries(rules), {
      key: "^key_[0-9a-f]{32}$",
      batch: "^bat_[0-9a-f]{32}$",
      source: 64,
      text: 400,
      from: "date-time",
      to: "date-time",
      cursor: 64
    })
  })

  it("has one component for what usage is grouped by", () => {
    const reference = { $ref: "#/components/schemas/UsageGroupBy" }
    const parameters = at(committed, "paths", "/v1/usage", "get", "parameters") as unknown as ReadonlyArray<Json>
    const [groupBy] = parameters.filter(({ name }) => String(name) === "group_by")
    assert.deepStrictEqual(groupBy?.schema as unknown, reference)
    assert.deepStrictEqual(
      at(committed, "components", "schemas", "Usage", "properties", "group_by", "anyOf") as unknown,
      [reference, { type: "null" }]
    )
  })

  it("holds its examples to its own schemas", () => {
    const examples = Object.values(at(committed, "paths")).flatMap((methods) =>
      Object.values(methods).flatMap(({ operationId, requestBody, responses }) =>
        [requestBody, ...Object.values(responses ?? {})].flatMap((body) => {
          const { example, schema } = body?.content?.["application/json"] ?? {}
          return example === undefined ? [] : [[String(operationId), mismatch(example, schema)] as const]
        })
      )
    )
    assert.isAtLeast(examples.length, 12)
    for (const [operationId, wrong] of examples) assert.isUndefined(wrong, operationId)
  })

  it("holds the examples of parameters to their schemas: an id has the prefix of its kind", () => {
    const examples = Object.values(at(committed, "paths")).flatMap((methods) =>
      Object.values(methods).flatMap(({ operationId, parameters }) =>
        Object.values(parameters ?? {}).flatMap(({ example, name, schema }) =>
          example === undefined ? [] : [[`${operationId} ${name}`, mismatch(example, schema)] as const]
        )
      )
    )
    assert.isAtLeast(examples.length, 12)
    for (const [parameter, wrong] of examples) assert.isUndefined(wrong, parameter)
  })

  it("shows the event stream of /mcp beside JSON", () => {
    const content = at(committed, "paths", "/mcp", "post", "responses", "200", "content")
    assert.sameMembers(Object.keys(content), ["application/json", "text/event-stream"])
  })

  it("has no reference that leads nowhere", () => {
    const references = [...JSON.stringify(committed).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path ?? "")
    assert.isNotEmpty(references)
    for (const path of references) at(committed, ...path.split("/"))
  })

  it.effect("says what the service does: body and headers of every status", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const caller = yield* aCaller({ plan: "custom", quota: 4, concurrency: 1 })
      const search = (query: string) => api.get(`/v1/query?${query}`, caller.auth)
      const bulk = (body: string, headers = caller.auth) =>
        api.send("POST", "/v1/bulk", { body, headers: { ...headers, "content-type": "application/json" } })
      const check = (answer: TestApi.Answer, status: number, path: string, method: string) => {
        assert.strictEqual(answer.status, status)
        assertDocumented(answer, path, method)
      }
      check(yield* search("query=a"), 200, "/v1/query", "get")
      check(yield* search("query="), 400, "/v1/query", "get")
      check(yield* search("query=a&geo=zz"), 400, "/v1/query", "get")
      check(yield* search("query=a&target=beta_search&page=2"), 400, "/v1/query", "get")
      check(yield* search("query=fail"), 502, "/v1/query", "get")
      check(yield* search("query=late"), 504, "/v1/query", "get")
      check(yield* search("query=boom"), 500, "/v1/query", "get")
      check(yield* api.get("/v1/query"), 401, "/v1/query", "get")
      check(yield* bulk('{"queries":["a",""]}'), 200, "/v1/bulk", "post")
      check(yield* search("query=a"), 402, "/v1/query", "get")
      check(yield* bulk('{"queries":["a"]}'), 402, "/v1/bulk", "post")
      check(yield* bulk("{}"), 400, "/v1/bulk", "post")
      check(yield* bulk("{}", { authorization: "Bearer x" }), 401, "/v1/bulk", "post")
      check(yield* api.get("/v1/me", caller.auth), 200, "/v1/me", "get")
      check(yield* api.get("/v1/me"), 401, "/v1/me", "get")
      for (let i = 0; i < 60; i++) yield* api.get("/v1/me", caller.auth)
      check(yield* search("query=a"), 429, "/v1/query", "get")
      check(yield* bulk("{}"), 429, "/v1/bulk", "post")
      check(yield* api.get("/v1/me", caller.auth), 429, "/v1/me", "get")
    }).pipe(
      Effect.provide(
        services(
          providing(({ query }) => {
            if (query === "fail") return Effect.fail(new UpstreamError({ message: "no" }))
            if (query === "late") return Effect.fail(new UpstreamTimeout({ message: "late" }))
            return query === "boom" ? Effect.die("boom") : Effect.succeed(found(3))
          })
        )
      )
    )
  )

  it.effect("says what the MCP endpoint does: body and headers of every status", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { auth } = yield* aCaller({ plan: "trial" })
      const check = Effect.fnUntraced(function* (status: number, body: string, headers: Record<string, string> = auth) {
        const init = { body, headers: { "content-type": "application/json", ...headers } }
        const answer = yield* api.send("POST", "/mcp", init)
        assert.strictEqual(answer.status, status)
        assertDocumented(answer, "/mcp", "post")
      })
      yield* check(200, '{"jsonrpc":"2.0","id":1,"method":"ping"}')
      yield* check(200, '{"jsonrpc":"2.0","id":1,"method":"tools/call"}')
      yield* check(202, '{"jsonrpc":"2.0","method":"notifications/initialized"}')
      yield* check(400, "{}")
      yield* check(400, "{}", { ...auth, "content-type": "text/plain" })
      yield* check(401, "{}", {})
      yield* check(403, "{}", { ...auth, origin: "https://evil.test" })
      for (let i = 0; i < 60; i++) yield* api.send("POST", "/mcp", { headers: auth })
      yield* check(429, "{}")
    }).pipe(Effect.provide(services(providing(() => Effect.succeed(found(1))))))
  )

  it.effect("says what the dashboard's routes do: body and headers of every status", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { account, auth } = yield* aCaller({ plan: "trial" })
      const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(account))
      const headers = { cookie, origin: "http://quarry.test", "content-type": "application/json" }
      yield* api.get("/v1/query?query=a", auth)
      const check = Effect.fnUntraced(function* (status: number, method: string, path: string, body?: string) {
        const init = body === undefined ? { headers } : { headers, body }
        const answer = yield* api.send(method.toUpperCase(), path, init)
        assert.strictEqual(answer.status, status, `${method} ${path}`)
        assertDocumented(answer, templateOf(path), method)
        const refused = yield* api.send(method.toUpperCase(), path)
        assert.strictEqual(refused.status, 401)
        assertDocumented(refused, templateOf(path), method)
        return answer
      })
      const missing = `key_${"0".repeat(32)}`
      yield* check(200, "get", "/v1/usage?group_by=key")
      yield* check(400, "get", "/v1/usage?granularity=week")
      yield* check(200, "get", "/v1/query/recent")
      yield* check(400, "get", "/v1/query/recent?limit=0")
      yield* check(200, "get", "/v1/query/history?limit=1")
      yield* check(400, "get", "/v1/query/history?cursor=x")
      const issued = yield* check(201, "post", "/v1/api-keys", '{"name":"CI"}')
      yield* check(400, "post", "/v1/api-keys", "{}")
      const bounds = '{"budget":{"credits":5,"period":"day"},"networks":["10.0.0.0/8"]}'
      yield* check(200, "patch", `/v1/api-keys/${issued.json.id}`, bounds)
      yield* check(400, "patch", `/v1/api-keys/${issued.json.id}`, '{"budget":5}')
      yield* check(404, "patch", `/v1/api-keys/${missing}`, "{}")
      yield* check(400, "post", `/v1/api-keys/${issued.json.id}/rotate`, '{"grace_seconds":-1}')
      const rotated = yield* check(200, "post", `/v1/api-keys/${issued.json.id}/rotate`)
      yield* check(404, "post", `/v1/api-keys/${missing}/rotate`)
      yield* check(200, "get", "/v1/api-keys")
      yield* check(204, "delete", `/v1/api-keys/${rotated.json.id}`)
      yield* check(404, "delete", `/v1/api-keys/${missing}`)
      yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.app(account))
      const apps = yield* check(200, "get", "/v1/apps")
      yield* check(204, "delete", `/v1/apps/${apps.json.apps[0].id}`)
      yield* check(404, "delete", "/v1/apps/nothing")
      yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(account))
      const { sessions } = (yield* check(200, "get", "/v1/sessions")).json
      const other = sessions.find((one: { readonly is_current: boolean }) => !one.is_current)
      yield* check(204, "delete", `/v1/sessions/${other.id}`)
      yield* check(404, "delete", `/v1/sessions/${other.id}`)
      const hook = yield* check(201, "post", "/v1/webhooks", '{"url":"https://hooks.test/quarry"}')
      yield* check(400, "post", "/v1/webhooks", '{"url":"https://hooks.test/quarry#a"}')
      yield* check(200, "get", "/v1/webhooks")
      yield* check(200, "get", "/v1/webhooks/settings")
      yield* check(200, "patch", "/v1/webhooks/settings", '{"low_percents":[50],"low_balance":null}')
      yield* check(400, "patch", "/v1/webhooks/settings", '{"low_percents":[100]}')
      const test = yield* check(201, "post", `/v1/webhooks/${hook.json.id}/test`)
      yield* check(201, "post", `/v1/webhooks/${hook.json.id}/deliveries/${test.json.id}/redeliver`)
      yield* check(404, "post", `/v1/webhooks/${hook.json.id}/deliveries/nothing/redeliver`)
      yield* check(200, "get", `/v1/webhooks/${hook.json.id}/deliveries?limit=1`)
      yield* check(400, "get", `/v1/webhooks/${hook.json.id}/deliveries?limit=0`)
      yield* check(200, "post", `/v1/webhooks/${hook.json.id}/rotate`, "{}")
      yield* check(400, "post", `/v1/webhooks/${hook.json.id}/rotate`, '{"grace_seconds":-1}')
      yield* check(200, "patch", `/v1/webhooks/${hook.json.id}`, '{"disabled":true}')
      yield* check(400, "post", `/v1/webhooks/${hook.json.id}/test`)
      yield* check(200, "get", "/v1/account/events?type=key")
      yield* check(400, "get", "/v1/account/events?limit=0")
      yield* check(200, "get", "/v1/account/export")
      yield* check(204, "delete", `/v1/webhooks/${hook.json.id}`)
      yield* check(404, "patch", `/v1/webhooks/${hook.json.id}`, "{}")
      yield* check(204, "delete", "/v1/account")
    }).pipe(Effect.provide(services(providing(() => Effect.succeed(found(1))))))
  )

  it.effect("says what the billing routes do: body and headers of every status", () => {
    const busy = Effect.fail(new BillingBusy({ message: "busy", retryAfterSeconds: 1 }))
    const away = Effect.fail(new BillingUnavailable({ message: "away", retryAfterSeconds: 30 }))
    const refusing = BillingStub.layer({ changePlan: () => busy, portal: () => away, sync: () => away })
    const check = (billing: typeof refusing, table: ReadonlyArray<readonly [number, string, string, string?]>) =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        const { account } = yield* aCaller({ plan: "growth" })
        const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(account))
        const headers = { cookie, origin: "http://quarry.test", "content-type": "application/json" }
        for (const [status, method, path, body] of table) {
          const answer = yield* api.send(
            method.toUpperCase(),
            path,
            body === undefined ? { headers } : { headers, body }
          )
          assert.strictEqual(answer.status, status, path)
          assertDocumented(answer, path, method)
        }
      }).pipe(
        Effect.provide(
          servicesOver(
            MemoryStorage.layer,
            providing(() => Effect.succeed(found(1))),
            { billing }
          )
        )
      )
    return Effect.gen(function* () {
      yield* check(BillingStub.layer(), [
        [200, "get", "/v1/billing"],
        [201, "post", "/v1/billing/checkout", '{"plan":"growth"}'],
        [400, "post", "/v1/billing/checkout", "{}"],
        [200, "post", "/v1/billing/plan", '{"plan":"growth"}'],
        [201, "post", "/v1/billing/packs", '{"credits":50000}'],
        [400, "post", "/v1/billing/packs", "{}"],
        [201, "post", "/v1/billing/portal"],
        [200, "post", "/v1/billing/sync", "{}"]
      ])
      yield* check(refusing, [
        [409, "post", "/v1/billing/plan", '{"plan":"growth"}'],
        [503, "post", "/v1/billing/portal"],
        [503, "post", "/v1/billing/sync", "{}"]
      ])
    })
  })
})
