import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, References } from "effect"
import * as fc from "fast-check"
import { MemoryStore } from "../../src/testing/MemoryStore.ts"
import { currentCall, initialize, post, request, toolCall } from "../support/api/Mcp.ts"
import { aCaller, found, providing, services, servicesOver, unlimited } from "../support/api/Services.ts"
import * as TestApi from "../support/api/TestApi.ts"
import * as MemoryStorage from "../support/stores/MemoryStorage.ts"
import { wholeStackRuns } from "../support/wholeStackRuns.ts"

const answering = providing(() => Effect.succeed(found(1)))
const layer = services(answering)

const sending = Effect.gen(function* () {
  const api = yield* TestApi.make
  const { auth } = yield* aCaller({ plan: "trial" })
  return {
    api,
    auth,
    send: (body: string, headers: Record<string, string> = {}) => post(api, { ...auth, ...headers }, body)
  }
})

describe("what is answered in JSON-RPC", () => {
  const notification = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
  const ping = request("ping")

  /** Body, headers, status, and the codes of the errors in the answer: 0 for a result. */
  const table: ReadonlyArray<
    readonly [string, string, Record<string, string>, number, ReadonlyArray<number> | undefined]
  > = [
    ["a ping", ping, {}, 200, [0]],
    ["a ping with a text for an id", request("ping", undefined, "x"), {}, 200, [0]],
    ["a notification", notification, {}, 202, undefined],
    ["an unknown notification", '{"jsonrpc":"2.0","method":"notifications/nothing"}', {}, 202, undefined],
    ["the cancellation of another request", request("x").replace('"id":1,', ""), {}, 202, undefined],
    ["a client's result", '{"jsonrpc":"2.0","id":1,"result":{}}', {}, 202, undefined],
    ["a client's error", '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}', {}, 202, undefined],
    ["an unknown method", request("tools/nothing"), {}, 200, [-32601]],
    ["a method that is not offered", request("resources/list"), {}, 200, [-32601]],
    ["a method of an object's prototype", request("constructor"), {}, 200, [-32601]],
    ["a call without parameters", request("tools/call"), {}, 200, [-32602]],
    ["a call without a name", request("tools/call", {}), {}, 200, [-32602]],
    [
      "a call whose arguments are not an object",
      request("tools/call", { name: "account", arguments: 1 }),
      {},
      200,
      [-32602]
    ],
    ["a call of an unknown tool", toolCall("nothing"), {}, 200, [-32602]],
    ["a call of a prototype's member", toolCall("constructor"), {}, 200, [-32602]],
    ["an initialization without parameters", request("initialize"), {}, 200, [-32602]],
    ["a list whose cursor is not text", request("tools/list", { cursor: 1 }), {}, 200, [-32602]],
    ["a call that asks for a task", request("tools/call", { name: "account", task: { ttl: 1 } }), {}, 200, [0]],
    ["nothing", "", {}, 400, [-32700]],
    ["no JSON", "{", {}, 400, [-32700]],
    ["two documents", `${ping}${ping}`, {}, 400, [-32700]],
    ["null", "null", {}, 400, [-32600]],
    ["a text", '"ping"', {}, 400, [-32600]],
    ["an empty object", "{}", {}, 400, [-32600]],
    ["no version", '{"id":1,"method":"ping"}', {}, 400, [-32600]],
    ["version 1.0", '{"jsonrpc":"1.0","id":1,"method":"ping"}', {}, 400, [-32600]],
    ["an id of null", '{"jsonrpc":"2.0","id":null,"method":"ping"}', {}, 400, [-32600]],
    ["an id that is not an integer", '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', {}, 400, [-32600]],
    ["an id that is an object", '{"jsonrpc":"2.0","id":{},"method":"ping"}', {}, 400, [-32600]],
    ["a method that is not text", '{"jsonrpc":"2.0","id":1,"method":1}', {}, 400, [-32600]],
    ["parameters in a list", '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', {}, 400, [-32600]],
    ["a batch", `[${ping},${request("ping", undefined, 2)}]`, {}, 200, [0, 0]],
    ["a batch of one", `[${ping}]`, {}, 200, [0]],
    ["a batch of notifications", `[${notification},${notification}]`, {}, 202, undefined],
    ["a batch of both", `[${notification},${ping}]`, {}, 200, [0]],
    [
      "a batch that cancels its own request",
      `[${toolCall("account")},{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}]`,
      {},
      200,
      [0]
    ],
    ["a batch of revision 2025-03-26", `[${ping}]`, { "mcp-protocol-version": "2025-03-26" }, 200, [0]],
    ["a batch of a revision without batches", `[${ping}]`, { "mcp-protocol-version": "2025-06-18" }, 400, [-32600]],
    ["an empty batch", "[]", {}, 400, [-32600]],
    ["a batch with something other than a message", `[${ping},1]`, {}, 400, [-32600]],
    ["a batch with one id twice", `[${ping},${toolCall("account")}]`, {}, 400, [-32600]],
    ["a batch in a batch", `[[${ping}]]`, {}, 400, [-32600]],
    ["a batch of more than 10", `[${Array(11).fill(notification)}]`, {}, 400, [-32600]],
    ["an id of 256 characters", request("ping", undefined, "x".repeat(256)), {}, 200, [0]],
    ["R70: a longer id, which the answer would repeat", request("ping", undefined, "x".repeat(257)), {}, 400, [-32600]],
    ["as many values as a body may have", request("ping", { a: Array(4995).fill(1) }), {}, 200, [0]],
    ["R70: one value more", request("ping", { a: Array(4996).fill(1) }), {}, 400, [-32600]],
    ["R70: one value more, each in the one before it", `${"[".repeat(5002)}${"]".repeat(5002)}`, {}, 400, [-32600]],
    ["a revision that is known", ping, { "mcp-protocol-version": "2025-11-25" }, 200, [0]],
    ["a revision that is not", ping, { "mcp-protocol-version": "1999-01-01" }, 400, [-32000]],
    ["an empty revision", ping, { "mcp-protocol-version": "" }, 400, [-32000]],
    ["a session id, which is nobody's", ping, { "mcp-session-id": "x" }, 200, [0]],
    ["an Origin of this deployment", ping, { origin: "http://quarry.test" }, 200, [0]],
    ["an Origin that is not", ping, { origin: "http://evil.test" }, 403, [-32000]],
    ["an Origin of another port", ping, { origin: "http://quarry.test:8080" }, 403, [-32000]],
    ["a null Origin", ping, { origin: "null" }, 403, [-32000]],
    ["two Origins", ping, { origin: "http://quarry.test, http://evil.test" }, 403, [-32000]]
  ]

  for (const [name, body, headers, status, codes] of table) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const { send } = yield* sending
        const answer = yield* send(body, headers)
        assert.strictEqual(answer.status, status, answer.text)
        assert.isNull(answer.headers.get("mcp-session-id"))
        if (codes === undefined) return assert.strictEqual(answer.text, "")
        assert.match(answer.headers.get("content-type") ?? "", /^application\/json/)
        // JSON-RPC 2.0, section 6: the answer to a batch is a list, also with one entry.
        if (status === 200) assert.strictEqual(Array.isArray(answer.json), body.startsWith("["))
        const answers = [answer.json].flat()
        assert.deepStrictEqual(
          answers.map(({ error }) => error?.code ?? 0),
          [...codes]
        )
        for (const { id, jsonrpc } of answers) {
          assert.strictEqual(jsonrpc, "2.0")
          if (status !== 200) assert.isNull(id)
        }
      }).pipe(Effect.provide(layer))
    )
  }
})

describe("R70: what an error quotes of a message", () => {
  const name = "x".repeat(5000)
  const bodies = {
    "the name of a field": initialize("2025-06-18").replace(
      `"capabilities":{}`,
      `"capabilities":{"experimental":{"${name}":1}}`
    ),
    "the name of a tool": toolCall(name),
    "a method": request(name)
  }
  it.effect.each(Object.entries(bodies))("%s is cut", ([, body]) =>
    Effect.gen(function* () {
      const { send } = yield* sending
      const { json } = yield* send(body)
      assert.isBelow(json.error.message.length, 350)
    }).pipe(Effect.provide(layer))
  )

  it.effect("a revision is cut", () =>
    Effect.gen(function* () {
      const { send } = yield* sending
      const { json } = yield* send(request("ping"), { "mcp-protocol-version": `\u00e9${name}` })
      assert.strictEqual(json.error.code, -32000)
      assert.isBelow(json.error.message.length, 350)
    }).pipe(Effect.provide(layer))
  )
})

describe("R3: what is refused before it is a message has the envelope", () => {
  const ping = request("ping")
  const table: ReadonlyArray<
    readonly [string, string, string, Record<string, string>, string | Uint8Array | undefined]
  > = [
    ["another content type", "POST", "invalid_request", { "content-type": "text/plain" }, ping],
    ["a form", "POST", "invalid_request", { "content-type": "application/x-www-form-urlencoded" }, "a=b"],
    ["a body above 1 MiB", "POST", "invalid_request", {}, `"${"a".repeat(1024 * 1024)}"`],
    ["bytes that are no UTF-8", "POST", "invalid_request", {}, new Uint8Array([34, 255, 34])],
    ["an empty content type", "POST", "invalid_request", { "content-type": "" }, ping],
    ["PUT", "PUT", "not_found", {}, ping],
    ["OPTIONS", "OPTIONS", "not_found", { origin: "http://evil.test" }, undefined],
    ["HEAD", "HEAD", "not_found", {}, undefined]
  ]
  for (const [name, method, code, headers, body] of table) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const { api, auth } = yield* sending
        const sent = { "content-type": "application/json", ...auth, ...headers }
        const answer = yield* api.send(method, "/mcp", { headers: sent, body: body ?? null })
        assert.strictEqual(answer.status, code === "not_found" ? 404 : 400)
        assert.isNotNull(answer.headers.get("x-request-id"))
        assert.strictEqual(answer.headers.get("x-ratelimit-limit"), code === "not_found" ? null : "60")
        if (method === "HEAD") return
        assert.strictEqual(answer.json.error, code)
        if (code === "invalid_request") assert.strictEqual(answer.json.issues[0].field, "")
      }).pipe(Effect.provide(layer))
    )
  }

  it.effect("a body without a content type", () =>
    Effect.gen(function* () {
      const { api, auth } = yield* sending
      // Bytes, because a text would be given a content type.
      const answer = yield* api.send("POST", "/mcp", { headers: auth, body: new TextEncoder().encode(ping) })
      assert.strictEqual(answer.status, 400)
      assert.deepStrictEqual([answer.json.error, answer.json.issues[0].field], ["invalid_request", ""])
    }).pipe(Effect.provide(layer))
  )

  it.effect("R2: the request's id is that of the header, also where the answer is JSON-RPC", () =>
    Effect.gen(function* () {
      const { send } = yield* sending
      const id = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
      for (const body of [ping, "{", toolCall("web_search")]) {
        assert.strictEqual((yield* send(body, { "x-request-id": id })).headers.get("x-request-id"), id)
      }
      const failed = yield* send(toolCall("web_search"), { "x-request-id": id })
      assert.strictEqual(failed.json.result._meta["quarry/error"].request_id, id)
    }).pipe(Effect.provide(layer))
  )
})

describe("R35: there is no stream to listen to and no session to end", () => {
  const table: ReadonlyArray<readonly [string, string, Record<string, string>]> = [
    ["GET", "as a client asks for a stream", { accept: "text/event-stream" }],
    ["GET", "with a session id", { accept: "text/event-stream", "mcp-session-id": "x", "last-event-id": "1" }],
    ["GET", "of a browser's page of another origin", { origin: "http://evil.test" }],
    ["DELETE", "as a client ends a session", { "mcp-session-id": "x" }],
    ["DELETE", "without a session id", {}]
  ]
  for (const [method, name, headers] of table) {
    it.effect(`${method} ${name} is 405, before any credential is asked for`, () =>
      Effect.gen(function* () {
        const { api, auth } = yield* sending
        const id = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
        const credentials: ReadonlyArray<Record<string, string>> = [{}, auth, { authorization: "Bearer x" }]
        for (const credential of credentials) {
          const answer = yield* api.send(method, "/mcp", { headers: { ...credential, ...headers, "x-request-id": id } })
          assert.strictEqual(answer.status, 405)
          assert.strictEqual(answer.headers.get("allow"), "POST")
          assert.strictEqual(answer.headers.get("x-request-id"), id)
          assert.isNull(answer.headers.get("x-ratelimit-limit"), "does not count")
          assert.match(answer.headers.get("content-type") ?? "", /^application\/json/)
          assert.deepInclude(answer.json, { jsonrpc: "2.0", id: null })
          assert.strictEqual(answer.json.error.code, -32000)
        }
      }).pipe(Effect.provide(layer))
    )
  }

  it.effect("401 and 429 are the API's", () =>
    Effect.gen(function* () {
      const { api, send } = yield* sending
      const unknown = yield* post(api, { origin: "http://evil.test" }, request("ping"))
      assert.deepStrictEqual([unknown.status, unknown.json.error], [401, "unauthorized"])
      for (let n = 0; n < 60; n++) yield* send(request("ping"))
      const refused = yield* send(request("ping"), { origin: "http://evil.test" })
      assert.deepStrictEqual([refused.status, refused.json.error], [429, "rate_limited"])
    }).pipe(Effect.provide(layer))
  )
})

describe("initialize", () => {
  const negotiated: ReadonlyArray<readonly [string, string]> = [
    ["2025-11-25", "2025-11-25"],
    ["2025-06-18", "2025-06-18"],
    ["2025-03-26", "2025-03-26"],
    ["1999-01-01", "2025-11-25"]
  ]
  for (const [asked, answered] of negotiated) {
    it.effect(`a client of ${asked} is answered in ${answered}`, () =>
      Effect.gen(function* () {
        const { send } = yield* sending
        // A client that knows no revision yet may name any.
        const { result } = (yield* send(initialize(asked), { "mcp-protocol-version": asked })).json
        assert.strictEqual(result.protocolVersion, answered)
        assert.deepStrictEqual(result.capabilities, { tools: {} })
        assert.strictEqual(result.serverInfo.name, "quarry")
        assert.match(result.instructions, /web_search/)
      }).pipe(Effect.provide(layer))
    )
  }

  it.effect("is not asked of a client before it calls a tool: no request knows another", () =>
    Effect.gen(function* () {
      const { send } = yield* sending
      assert.isDefined((yield* send(toolCall("account"))).json.result.structuredContent)
    }).pipe(Effect.provide(layer))
  )
})

describe("events", () => {
  const table: ReadonlyArray<readonly [string | undefined, "json" | "events"]> = [
    [undefined, "json"],
    ["", "json"],
    ["*/*", "json"],
    ["application/json", "json"],
    ["text/html", "json"],
    ["application/json, text/event-stream", "json"],
    ["text/event-stream, application/json", "json"],
    ["text/event-stream, */*", "json"],
    ["text/event-stream;q=0, */*", "json"],
    ["text/event-stream", "events"],
    ["TEXT/*", "events"],
    ["text/event-stream, */*;q=0.1", "events"],
    ["application/json;q=0.5, text/event-stream;q=0.9", "events"]
  ]
  for (const [accept, form] of table) {
    it.effect(`Accept: ${accept} is answered with ${form}`, () =>
      Effect.gen(function* () {
        const { api, auth } = yield* sending
        const headers = { ...auth, "content-type": "application/json", ...(accept === undefined ? {} : { accept }) }
        const answer = yield* api.send("POST", "/mcp", { headers, body: toolCall("web_search", { query: "a" }) })
        assert.strictEqual(answer.status, 200)
        const type = form === "json" ? "application/json" : "text/event-stream"
        assert.isTrue(answer.headers.get("content-type")?.startsWith(type))
        assert.isNotNull(answer.headers.get("x-ratelimit-limit"))
        const [, data = ""] =
          form === "json" ? ["", answer.text] : (/^event: message\ndata: (.*)\n\n$/.exec(answer.text) ?? [])
        assert.isDefined(JSON.parse(data).result.structuredContent)
      }).pipe(Effect.provide(layer))
    )
  }
})

describe("R21: a client that leaves", () => {
  const queries = Array.from({ length: 20 }, (_, n) => `row ${n}`)
  const call = { body: toolCall("bulk_search", { queries }), headers: {} }
  const meta = { progressToken: "a" }
  const both = "application/json, text/event-stream"
  const calls: ReadonlyArray<readonly [string, typeof call, string]> = [
    ["a call answered as JSON", call, both],
    ["a call answered as events", call, "text/event-stream"],
    ["a call of the current revision", currentCall("bulk_search", { queries }), both],
    [
      "a call with progress",
      { ...call, body: request("tools/call", { name: "bulk_search", arguments: { queries }, _meta: meta }) },
      both
    ],
    ["a call of the current revision with progress", currentCall("bulk_search", { queries }, meta), both]
  ]
  for (const [name, { body, headers }, accept] of calls) {
    it.effect(`${name} stops rows that have not started, and what runs is charged`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const started = yield* Deferred.make<void>()
        let running = 0
        const holding = providing(() =>
          Effect.suspend(() => (++running === 5 ? Deferred.succeed(started, undefined) : Effect.void)).pipe(
            Effect.andThen(Deferred.await(gate)),
            Effect.as(found(1))
          )
        )
        yield* Effect.gen(function* () {
          const { send } = yield* sending
          const store = yield* MemoryStore
          const fiber = yield* Effect.forkChild(send(body, { ...headers, accept }))
          yield* Deferred.await(started)
          yield* Fiber.interrupt(fiber)
          yield* Deferred.succeed(gate, undefined)
          while (store.queries.length < 5) yield* Effect.yieldNow
          for (let n = 0; n < 1000; n++) yield* Effect.yieldNow
          assert.strictEqual(store.queries.length, 5, "as many as run at once on the trial")
        }).pipe(Effect.provide(services(holding)))
      })
    )
  }
})

describe("anything at all", () => {
  const fragment = fc.constantFrom(
    ...['{"jsonrpc":"2.0"', ',"id":1', ',"method":"tools/call"', ',"params":{', '"name":"web_search"', '"arguments":'],
    ...["[", "]", "{", "}", ",", '"__proto__"', "null", "1e999", '"\\ud800"', "\0", "[[[[[[[[[[", '{"a":{"a":{"a":'],
    ...[request("tools/list"), request("ping", {}, "x"), '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":']
  )
  const bodies = fc.oneof(
    fc.array(fragment, { maxLength: 12 }).map((parts) => new TextEncoder().encode(parts.join(""))),
    fc.uint8Array({ maxLength: 200 }),
    fc.json().map((text) => new TextEncoder().encode(text)),
    fc
      .record({
        jsonrpc: fc.constantFrom("2.0", "1.0"),
        id: fc.jsonValue(),
        method: fc.string(),
        params: fc.jsonValue()
      })
      .map((message) => new TextEncoder().encode(JSON.stringify(message))),
    // Calls that fail: what would be run must not be charged in this test.
    fc
      .tuple(fc.constantFrom("web_search", "bulk_search", "account", "x"), fc.jsonValue())
      .map(([name, args]) => new TextEncoder().encode(toolCall(name, { query: 1, queries: 1, args }))),
    fc
      .tuple(fc.jsonValue(), fc.jsonValue())
      .map(([args, meta]) => new TextEncoder().encode(currentCall("web_search", { query: 1, args }, { meta }).body))
  )

  const revisions = fc.constantFrom<Record<string, string>>({}, currentCall("web_search").headers)

  it.effect("is answered, and charges nothing", () =>
    Effect.gen(function* () {
      const { api, auth } = yield* sending
      const store = yield* MemoryStore
      const context = yield* Effect.context<never>()
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(bodies, revisions, (body, revision) =>
            Effect.runPromiseWith(context)(
              Effect.gen(function* () {
                const headers = { ...auth, "content-type": "application/json", ...revision }
                const answer = yield* api.send("POST", "/mcp", { headers, body })
                assert.include([200, 202, 400, 404], answer.status, answer.text)
                if (answer.status !== 202) assert.isObject(answer.json)
              })
            )
          ),
          { numRuns: wholeStackRuns }
        )
      )
      const deep = `${'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":'}${"[".repeat(400_000)}${"]".repeat(400_000)}}}`
      assert.include([200, 400], (yield* post(api, auth, deep)).status)
      assert.deepStrictEqual(store.queries, [])
    }).pipe(
      Effect.provide(servicesOver(MemoryStorage.layer, answering, { limiter: unlimited })),
      Effect.provideService(References.MinimumLogLevel, "None")
    )
  )
})
