import { assert, describe, it } from "@effect/vitest"
import { createMcpHandler, Server } from "@modelcontextprotocol/server"
import { Effect } from "effect"
import * as fc from "fast-check"
import { isStateless, readStateless } from "../../src/mcp/stateless.ts"
import { currentCall, currentMeta, currentRequest, post, request } from "../support/api/Mcp.ts"
import { aCaller, found, providing, services } from "../support/api/Services.ts"
import * as TestApi from "../support/api/TestApi.ts"
import { wholeStackRuns } from "../support/wholeStackRuns.ts"

const layer = services(providing(() => Effect.succeed(found(2))))

const sending = Effect.gen(function* () {
  const api = yield* TestApi.make
  const { auth } = yield* aCaller({ plan: "trial" })
  return {
    send: ({ body, headers }: { readonly body: string; readonly headers: Record<string, string> }) =>
      post(api, { ...auth, ...headers }, body)
  }
})

interface Sent {
  readonly body: string
  readonly headers: Record<string, string>
}

const without = ({ body, headers }: Sent, name: string): Sent => ({
  body,
  headers: Object.fromEntries(Object.entries(headers).filter(([header]) => header !== name))
})

const withHeaders = ({ body, headers }: Sent, more: Record<string, string>): Sent => ({
  body,
  headers: { ...headers, ...more }
})

const withMeta = (meta: unknown): Sent => ({
  ...currentRequest("tools/list"),
  body: request("tools/list", { _meta: meta })
})

const list = currentRequest("tools/list")
const call = currentCall("account", {})
const version = "io.modelcontextprotocol/protocolVersion"
const { [version]: _, ...metaWithoutVersion } = currentMeta
const { "io.modelcontextprotocol/clientInfo": __, ...metaWithoutClient } = currentMeta
const { "io.modelcontextprotocol/clientCapabilities": ___, ...metaWithoutCapabilities } = currentMeta

/** Name, request, status, and the code of the error, 0 for a result. */
const table: ReadonlyArray<readonly [string, Sent, number, number]> = [
  ["discovery", currentRequest("server/discover"), 200, 0],
  ["the list of tools", list, 200, 0],
  ["the list with a cursor, which nobody was given", currentRequest("tools/list", { cursor: "x" }), 200, -32602],
  ["a call", call, 200, 0],
  ["a client without a name", withMeta(metaWithoutClient), 200, 0],
  ["a name in Base64", withHeaders(call, { "mcp-name": "=?base64?YWNjb3VudA==?=" }), 200, 0],
  ["no header of the revision", without(call, "mcp-protocol-version"), 400, -32020],
  ["a header of another revision", withHeaders(call, { "mcp-protocol-version": "2025-11-25" }), 400, -32020],
  ["no header of the method", without(call, "mcp-method"), 400, -32020],
  ["a header of another method", withHeaders(call, { "mcp-method": "tools/list" }), 400, -32020],
  ["a header of the method in other letters", withHeaders(call, { "mcp-method": "Tools/Call" }), 400, -32020],
  ["no header of the tool", without(call, "mcp-name"), 400, -32020],
  ["a header of another tool", withHeaders(call, { "mcp-name": "web_search" }), 400, -32020],
  ["a header of the tool in broken Base64", withHeaders(call, { "mcp-name": "=?base64?YWNj b3VudA==?=" }), 400, -32020],
  ["no _meta", { ...list, body: request("tools/list", {}) }, 400, -32602],
  ["no parameters", { ...list, body: request("tools/list") }, 400, -32602],
  ["_meta without the revision", withMeta(metaWithoutVersion), 400, -32602],
  ["_meta without the capabilities", withMeta(metaWithoutCapabilities), 400, -32602],
  ["a revision that is not text", withMeta({ ...currentMeta, [version]: 1 }), 400, -32602],
  [
    "capabilities that are a list",
    withMeta({ ...metaWithoutCapabilities, "io.modelcontextprotocol/clientCapabilities": [] }),
    400,
    -32602
  ],
  [
    "a client that is a text",
    withMeta({ ...metaWithoutClient, "io.modelcontextprotocol/clientInfo": "x" }),
    400,
    -32602
  ],
  [
    "an unknown revision",
    withHeaders(withMeta({ ...currentMeta, [version]: "2099-01-01" }), { "mcp-protocol-version": "2099-01-01" }),
    400,
    -32022
  ],
  [
    "an earlier revision in _meta",
    withHeaders(withMeta({ ...currentMeta, [version]: "2025-11-25" }), { "mcp-protocol-version": "2025-11-25" }),
    400,
    -32022
  ],
  ["an unknown method", currentRequest("tools/nothing"), 404, -32601],
  ["a method that is not offered", currentRequest("resources/list"), 404, -32601],
  ["a method of an object's prototype", currentRequest("constructor"), 404, -32601],
  ["a ping, which this revision has not", currentRequest("ping"), 404, -32601],
  ["an initialization, which this revision has not", currentRequest("initialize"), 404, -32601],
  ["a subscription, where nothing changes", currentRequest("subscriptions/listen"), 404, -32601],
  ["a call without a name", currentRequest("tools/call"), 200, -32602],
  ["a call of an unknown tool", currentCall("nothing"), 200, -32602],
  ["a call of a prototype's member", currentCall("constructor"), 200, -32602],
  ["a call whose arguments are not an object", currentCall("account", 1), 200, -32602],
  ["a batch", { ...list, body: `[${list.body}]` }, 400, -32600],
  ["a batch without the header", { body: `[${list.body}]`, headers: {} }, 400, -32600],
  ["an id of null", { ...list, body: list.body.replace('"id":1', '"id":null') }, 400, -32600],
  ["a result of the client", { ...list, body: '{"jsonrpc":"2.0","id":1,"result":{}}' }, 400, -32600]
]

describe("protocol 2026-07-28", () => {
  for (const [name, sent, status, code] of table) {
    it.effect(`answers ${name} with ${status}${code === 0 ? "" : ` and ${code}`}`, () =>
      Effect.gen(function* () {
        const { send } = yield* sending
        const answer = yield* send(sent)
        assert.strictEqual(answer.status, status, answer.text)
        const { error, id, jsonrpc, result } = answer.json
        assert.strictEqual(error?.code ?? 0, code, answer.text)
        assert.strictEqual(jsonrpc, "2.0")
        assert.strictEqual(id, code === -32600 ? null : 1)
        assert.isNull(answer.headers.get("mcp-session-id"))
        if (code !== 0) return
        assert.strictEqual(result.resultType, "complete")
        assert.strictEqual(result._meta["io.modelcontextprotocol/serverInfo"].name, "quarry")
      }).pipe(Effect.provide(layer))
    )
  }

  it.effect("answers a notification with 202", () =>
    Effect.gen(function* () {
      const { send } = yield* sending
      const answer = yield* send({ ...list, body: '{"jsonrpc":"2.0","method":"notifications/nothing"}' })
      assert.deepStrictEqual([answer.status, answer.text], [202, ""])
    }).pipe(Effect.provide(layer))
  )

  it.effect("names the revision that it serves to a client of an unknown one", () =>
    Effect.gen(function* () {
      const { send } = yield* sending
      const asked = withMeta({ ...currentMeta, [version]: "1900-01-01" })
      const { error } = (yield* send(withHeaders(asked, { "mcp-protocol-version": "1900-01-01" }))).json
      assert.deepStrictEqual(error.data, { supported: ["2026-07-28"], requested: "1900-01-01" })
    }).pipe(Effect.provide(layer))
  )

  it.effect("discovers what initialize tells in earlier ones", () =>
    Effect.gen(function* () {
      const { send } = yield* sending
      const { result } = (yield* send(currentRequest("server/discover"))).json
      assert.deepStrictEqual(result.supportedVersions, ["2026-07-28"])
      assert.deepStrictEqual(result.capabilities, { tools: {} })
      assert.match(result.instructions, /web_search/)
      assert.isAbove(result.ttlMs, 0)
      assert.strictEqual(result.cacheScope, "public")
    }).pipe(Effect.provide(layer))
  )

  it.effect("lists the tools in one order, with the time for which the list may be kept", () =>
    Effect.gen(function* () {
      const { send } = yield* sending
      const [first, second] = [(yield* send(list)).text, (yield* send(list)).text]
      assert.strictEqual(first, second)
      const { cacheScope, tools, ttlMs } = JSON.parse(first).result
      assert.deepStrictEqual(
        tools.map(({ name }: { readonly name: string }) => name),
        ["web_search", "bulk_search", "read_page", "account"]
      )
      assert.isTrue(Number.isSafeInteger(ttlMs) && ttlMs > 0)
      assert.strictEqual(cacheScope, "public")
    }).pipe(Effect.provide(layer))
  )

  it.effect("calls a tool with the same outcome as earlier revisions", () =>
    Effect.gen(function* () {
      const { send } = yield* sending
      const { result } = (yield* send(currentCall("web_search", { query: "css grid" }))).json
      assert.strictEqual(result.structuredContent.query, "css grid")
      assert.match(result.content[0].text, /^2 results for "css grid"/)
      const failed = (yield* send(currentCall("web_search", { query: "a", geo: "zz" }))).json.result
      assert.isTrue(failed.isError)
      assert.strictEqual(failed._meta["quarry/error"].error, "unsupported_geo")
      assert.strictEqual(failed._meta["io.modelcontextprotocol/serverInfo"].name, "quarry")
    }).pipe(Effect.provide(layer))
  )

  it.effect("R70: cuts what an error quotes of a request", () =>
    Effect.gen(function* () {
      const { send } = yield* sending
      const long = "x".repeat(5000)
      for (const sent of [
        without(currentRequest(long), "mcp-method"),
        withHeaders(currentCall(long), { "mcp-name": "y" }),
        currentCall(long),
        withMeta({ ...currentMeta, [version]: long })
      ]) {
        const { text } = yield* send(sent)
        assert.isBelow(text.length, 500)
      }
    }).pipe(Effect.provide(layer))
  )
})

describe("the official server's rules", () => {
  const official = createMcpHandler(
    () => {
      const server = new Server({ name: "oracle", version: "1" }, { capabilities: { tools: {} } })
      server.setRequestHandler("tools/list", () => ({ tools: [] }))
      server.setRequestHandler("tools/call", () => ({ content: [] }))
      return server
    },
    { legacy: "reject" }
  )

  const ask = (sent: Sent) =>
    Effect.promise(async () => {
      const headers = {
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        ...sent.headers
      }
      const response = await official.fetch(
        new Request("http://quarry.test/mcp", { method: "POST", headers, body: sent.body })
      )
      const { error } = (await response.json()) as { readonly error?: { readonly code: number } }
      return { status: response.status, code: error?.code ?? 0 }
    })

  const maybe = <A>(value: fc.Arbitrary<A>, weight = 8) =>
    fc.oneof({ weight, arbitrary: value }, { weight: 1, arbitrary: fc.constant(undefined) })

  const revisions = fc.constantFrom("2026-07-28", "2026-07-28", "2026-07-28", "2026-07-28", "2099-01-01")
  const methods = fc.constantFrom("tools/list", "tools/call", "server/discover", "resources/read", "x")

  const requests = fc.record({
    asked: revisions,
    method: methods,
    name: maybe(fc.constantFrom("account", "é", "=?base64?x?=")),
    capabilities: maybe(fc.constantFrom({}, { sampling: {} })),
    header: maybe(revisions),
    methodHeader: maybe(fc.oneof({ weight: 6, arbitrary: fc.constant("same") }, { weight: 1, arbitrary: methods })),
    nameHeader: maybe(fc.constantFrom("account", "=?base64?w6k=?=", "=?base64?YWNjb3VudA==?=", "=?base64?%?="))
  })

  it.effect("decide as ours do which requests are refused, and by which code", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(requests, async ({ asked, capabilities, header, method, methodHeader, name, nameHeader }) => {
          const meta = {
            [version]: asked,
            ...(capabilities === undefined ? {} : { "io.modelcontextprotocol/clientCapabilities": capabilities })
          }
          const body = request(method, { _meta: meta, ...(name === undefined ? {} : { name }) })
          const given = {
            "mcp-protocol-version": header,
            "mcp-method": methodHeader === "same" ? method : methodHeader,
            "mcp-name": nameHeader
          }
          const headers: Record<string, string> = {}
          for (const [key, value] of Object.entries(given)) if (value !== undefined) headers[key] = value
          const theirs = await Effect.runPromise(ask({ body, headers }))
          assert.isTrue(isStateless(headers, JSON.parse(body)))
          const ours = readStateless(headers, JSON.parse(body))
          const refusal = ours._tag === "Failure" ? ours.failure.code : 0
          const refusals = [-32602, -32020, -32022]
          const expected = theirs.status === 400 && refusals.includes(theirs.code) ? theirs.code : 0
          assert.strictEqual(refusal, expected, JSON.stringify({ headers, body, theirs, ours }))
        }),
        { numRuns: wholeStackRuns }
      )
    )
  )
})
