import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ToolScope } from "../../src/domain/accounts/OAuth.ts"
import { SignedIn } from "../../src/testing/SessionsMemory.ts"
import { currentCall, post, request, toolCall } from "../support/api/Mcp.ts"
import { aCaller, found, providing, services } from "../support/api/Services.ts"
import * as TestApi from "../support/api/TestApi.ts"

const layer = services(providing(() => Effect.succeed(found(1))))

/** An app that a person allowed these scopes, as a function that sends a message with its token. */
const anApp = (...scopes: ReadonlyArray<ToolScope>) =>
  Effect.gen(function* () {
    const api = yield* TestApi.make
    const { account } = yield* aCaller({ plan: "trial" })
    const authorization = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.app(account, scopes))
    return (body: string, headers: Record<string, string> = {}) => post(api, { authorization, ...headers }, body)
  })

const challenge = (scope: string) =>
  `Bearer error="insufficient_scope", scope="${scope}", ` +
  'resource_metadata="http://quarry.test/.well-known/oauth-protected-resource/mcp", ' +
  'error_description="the person must allow this first"'

const page = { url: "https://example.com/" }

describe("an app that a person allowed a part of the tools", () => {
  it.effect("gets 403 for the others in every revision, with the scopes to ask for", () =>
    Effect.gen(function* () {
      const send = yield* anApp("search")
      const call = currentCall("read_page", page)
      const batch = `[${toolCall("account", {}, 1)},${toolCall("read_page", page, 2)}]`
      for (const refused of [
        yield* send(toolCall("read_page", page)),
        yield* send(toolCall("read_page", page), { "mcp-protocol-version": "2025-11-25" }),
        yield* send(batch, { "mcp-protocol-version": "2025-03-26" }),
        yield* send(call.body, call.headers)
      ]) {
        assert.strictEqual(refused.status, 403)
        assert.strictEqual(refused.headers.get("www-authenticate"), challenge("search read"))
        assert.match(refused.json.error.message, /not allowed to read/)
      }
      const readOnly = yield* anApp("read")
      const search = yield* readOnly(toolCall("bulk_search", { queries: ["a"] }))
      assert.deepStrictEqual([search.status, search.headers.get("www-authenticate")], [403, challenge("search read")])
    }).pipe(Effect.provide(layer))
  )

  it.effect("calls what it was allowed, sees its account, and lists all tools", () =>
    Effect.gen(function* () {
      const send = yield* anApp("search")
      for (const body of [
        toolCall("web_search", { query: "css grid" }),
        toolCall("account", {}),
        toolCall("no_such_tool", {}),
        request("tools/list")
      ]) {
        const answer = yield* send(body)
        assert.strictEqual(answer.status, 200)
        assert.isNull(answer.headers.get("www-authenticate"))
      }
      assert.include(JSON.stringify((yield* send(request("tools/list"))).json), "read_page")
    }).pipe(Effect.provide(layer))
  )
})
