import { request as send } from "node:http"
import { text } from "node:stream/consumers"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Compat } from "../../../src/compat/Compat.ts"
import { compatShapes } from "../../../src/domain/compat/CompatShape.ts"
import { CompressesResponses } from "../../../src/http/middleware/Compression.ts"
import * as Listener from "../../support/api/Listener.ts"
import { secret } from "../../support/api/StubServices.ts"

/** Requests over sockets that were slow to parse or had large responses. What is behind the routes is a stub. */

const bearer = { authorization: `Bearer ${secret}` }
const json = { "content-type": "application/json" }
const form = { "content-type": "application/x-www-form-urlencoded" }
/** A page of this deployment. */
const own = { origin: "http://localhost:3000" }

interface Sent {
  readonly method?: string
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

const ask = (port: number, { body, headers = {}, method = "GET", path }: Sent) =>
  Effect.callback<{ readonly status: number; readonly text: string }>((resume) => {
    const request = send({ host: "127.0.0.1", port, path, method, headers }, (response) => {
      text(response).then((text) => resume(Effect.succeed({ status: response.statusCode ?? 0, text })))
    })
    request.on("error", (error) => resume(Effect.die(error))).end(body)
  })

const start = Listener.start().pipe(
  Effect.provideService(Compat, { shapes: compatShapes, engines: {} }),
  Effect.provideService(CompressesResponses, true)
)

const pairs = (count: number) => Array.from({ length: count }, (_, n) => `k${n}=1`).join("&")
const tooMany = pairs(65)
const message = "a query string or form may have at most 64 parameters"
const tooLarge = "the body is larger than 64 KiB"

/** Routes that read a query string, with the headers that lead them past their gates. */
const queries: ReadonlyArray<readonly [string, Record<string, string>]> = [
  ["/v1/query", bearer],
  ["/v1/me", bearer],
  ["/compat/searxng", bearer],
  ["/compat/searxng/search", bearer],
  ["/api/auth/get-session", {}],
  ["/api/auth/oauth2/authorize", {}],
  ["/api/auth/callback/github", {}],
  ["/oauth/sign-in", {}],
  ["/oauth/sign-up", {}],
  ["/oauth/consent", {}],
  ["/oauth/confirm", {}],
  ["/oauth/forgot-password", {}],
  ["/oauth/error", {}],
  ["/dashboard/sign-in", {}],
  ["/dashboard/sign-up", {}],
  ["/dashboard/forgot-password", {}]
]

const forms: ReadonlyArray<readonly [string, Record<string, string>]> = [
  ["/compat/searxng/search", bearer],
  ["/api/auth/oauth2/token", {}],
  ["/api/auth/oauth2/revoke", {}],
  ["/oauth/sign-in", own],
  ["/oauth/sign-up", own],
  ["/oauth/consent", own],
  ["/oauth/confirm", own],
  ["/oauth/forgot-password", own],
  ["/dashboard/sign-in", own],
  ["/dashboard/sign-up", own],
  ["/dashboard/forgot-password", own]
]

describe("R70 over sockets", () => {
  it.live("a query string of 65 parameters is 400 on every route that reads one", () =>
    Effect.gen(function* () {
      const { port } = yield* start
      for (const [path, headers] of queries) {
        const { status, text } = yield* ask(port, { path: `${path}?${tooMany}`, headers })
        assert.strictEqual(status, 400, path)
        assert.deepStrictEqual(JSON.parse(text).issues, [{ field: "", message }], path)
      }
      assert.strictEqual((yield* ask(port, { path: `/v1/webhooks/unsubscribe?${tooMany}` })).status, 400)
      assert.strictEqual((yield* ask(port, { path: `/v1/me?${pairs(64)}`, headers: bearer })).status, 200)
    })
  )

  it.live("a form of 65 parameters or more than 64 KiB is 400 on every route that takes one", () =>
    Effect.gen(function* () {
      const { port } = yield* start
      const large = `q=${"a".repeat(64 * 1024)}`
      for (const [path, headers] of forms) {
        for (const [body, issue] of [
          [tooMany, message],
          ["a&".repeat(30_000), message],
          [large, tooLarge]
        ] as const) {
          const { status, text } = yield* ask(port, { method: "POST", path, headers: { ...form, ...headers }, body })
          assert.strictEqual(status, 400, path)
          assert.deepStrictEqual(JSON.parse(text).issues, [{ field: "", message: issue }], path)
        }
      }
    })
  )

  it.live("a chunked form is cut off where it passes 64 KiB", () =>
    Effect.gen(function* () {
      const { port } = yield* start
      const headers = { ...form, ...bearer, "transfer-encoding": "chunked" }
      const body = `q=${"a".repeat(64 * 1024)}`
      const { text } = yield* ask(port, { method: "POST", path: "/compat/searxng/search", headers, body })
      assert.strictEqual(JSON.parse(text).issues[0].message, tooLarge)
    })
  )

  const call = (params: string) => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`
  const ones = `[${"1,".repeat(500_000)}1]`
  const nested = `${"[".repeat(500_000)}${"]".repeat(500_000)}`
  const long = `"${"x".repeat(1_000_000)}"`
  const keys = `{${Array.from({ length: 60_000 }, (_, n) => `"${n}":1`).join()}}`

  /** Bodies of 1 MB, for routes that a key may call. */
  const bodies: ReadonlyArray<readonly [string, (value: string) => string]> = [
    ["/v1/bulk", (value) => value],
    ["/v1/bulk", (value) => `{"queries":${value}}`],
    ["/v1/bulk", (value) => `{"queries":[{"query":"a","geo":${value}}]}`],
    ["/mcp", (value) => value],
    ["/mcp", (value) => `{"jsonrpc":"2.0","id":${value},"method":"ping"}`],
    ["/mcp", (value) => `{"jsonrpc":"2.0","id":1,"method":${value}}`],
    ["/mcp", (value) => call(value)],
    ["/mcp", (value) => call(`{"name":${value}}`)],
    ["/mcp", (value) => call(`{"name":"web_search","arguments":${value}}`)],
    ["/mcp", (value) => call(`{"name":"web_search","arguments":{"query":"a","geo":${value}}}`)],
    ["/mcp", (value) => call(`{"name":"bulk_search","arguments":{"queries":${value}}}`)],
    ["/mcp", (value) => call(`{"name":"account","arguments":{},"_meta":${value}}`)],
    ["/compat/tavily/search", (value) => `{"query":"a","include_domains":${value}}`],
    ["/compat/tavily/search", (value) => `{"query":"a","country":${value}}`],
    ["/compat/perplexity/search", (value) => `{"query":${value}}`],
    ["/compat/openwebui", (value) => `{"query":"a","count":${value}}`]
  ]
  const values = { "500,001 numbers": ones, "500,000 levels": nested, "1 MB of text": long, "60,000 fields": keys }
  for (const [name, value] of Object.entries(values)) {
    it.live(`a body with ${name} has a response of less than 8 KiB`, () =>
      Effect.gen(function* () {
        const { port } = yield* start
        for (const [path, bodyOf] of bodies) {
          const sent = { method: "POST", path, headers: { ...bearer, ...json }, body: bodyOf(value) }
          const { status, text } = yield* ask(port, sent)
          assert.isBelow(status, 500, `${path} ${sent.body.slice(0, 80)}`)
          assert.isBelow(text.length, 8192, `${path} ${sent.body.slice(0, 80)}`)
        }
      })
    )
  }

  it.live("a revision of MCP that is not known is quoted in part", () =>
    Effect.gen(function* () {
      const { port } = yield* start
      const headers = { ...bearer, ...json, "mcp-protocol-version": "9".repeat(10_000) }
      const body = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
      const { status, text } = yield* ask(port, { method: "POST", path: "/mcp", headers, body })
      assert.strictEqual(status, 400)
      assert.isBelow(text.length, 400)
    })
  )

  it.live("an Accept-Encoding that is longer than any client's is not parsed", () =>
    Effect.gen(function* () {
      const { port } = yield* start
      const accepted = (header: string) =>
        Effect.map(
          ask(port, { path: "/v1/query?query=a&geo=zz", headers: { ...bearer, "accept-encoding": header } }),
          ({ text }) => text.startsWith("{")
        )
      assert.isFalse(yield* accepted("br"))
      assert.isTrue(yield* accepted(`br;${" ".repeat(10_000)}q=1`))
    })
  )
})
