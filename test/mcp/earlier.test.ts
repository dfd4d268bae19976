import { assert, describe, it } from "@effect/vitest"
import { SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/sdk/types.js"
import { Effect, References } from "effect"
import { UpstreamError } from "../../src/domain/errors.ts"
import { earlierRevisions } from "../../src/mcp/revisions.ts"
import { post, request } from "../support/api/Mcp.ts"
import { aCaller, found, providing, services } from "../support/api/Services.ts"
import * as TestApi from "../support/api/TestApi.ts"

const layer = services(
  providing(({ query }) =>
    query === "fail" ? Effect.fail(new UpstreamError({ message: "The provider is down." })) : Effect.succeed(found(3))
  )
)

/** Ids differ from call to call. */
const withoutIds = (text: string) =>
  text.replace(/(qry|bat)_[0-9a-f]{32}/g, "$1").replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "request")

describe("calls by earlier revisions", () => {
  it("the library serves the revisions that are answered without it", () => {
    assert.deepStrictEqual([...earlierRevisions], SUPPORTED_PROTOCOL_VERSIONS)
  })

  const calls: ReadonlyArray<readonly [string, object]> = [
    ["web_search", { query: "css grid", num: 2 }],
    ["web_search", { query: "“quotes”, \u2028 and 🦄" }],
    ["web_search", { query: "a", geo: "zz" }],
    ["web_search", { query: "fail" }],
    ["bulk_search", { queries: ["a", "", "fail"] }],
    ["account", {}]
  ]
  for (const [name, args] of calls) {
    it.effect(`${name} ${JSON.stringify(args)} is answered with the bytes of the library`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        const { auth } = yield* aCaller({ plan: "trial" })
        for (const revision of earlierRevisions) {
          const headers = { ...auth, "mcp-protocol-version": revision }
          const direct = yield* post(api, headers, request("tools/call", { name, arguments: args }))
          // The library answers a call that asks for a task, as if it did not.
          const task = { name, arguments: args, _meta: { "io.modelcontextprotocol/related-task": { taskId: "x" } } }
          const library = yield* post(api, headers, request("tools/call", task))
          assert.strictEqual(withoutIds(direct.text), withoutIds(library.text))
          assert.strictEqual(direct.headers.get("content-type"), library.headers.get("content-type"))
        }
      }).pipe(Effect.provide(layer), Effect.provideService(References.MinimumLogLevel, "None"))
    )
  }
})
