import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { retryAfterOf } from "../../../src/layers/providers/Upstream.ts"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import { providers } from "../../support/api/ProviderTable.ts"
import { searchRequest } from "../../support/api/requests.ts"
import { type Answer, json, serve } from "../../support/servers/UpstreamServer.ts"
import { searchProviders } from "../../support/Time.ts"

const answer = json({ web: { results: [{ url: "https://a.test/", title: "A", description: "" }] } })

/** Brave with two keys, at a server that answers each request with the next of these, and repeats the last. */
const brave = (...answers: ReadonlyArray<Answer>) =>
  Effect.gen(function* () {
    let next = 0
    const upstream = yield* serve((received, response) =>
      answers[Math.min(next++, answers.length - 1)]?.(received, response)
    )
    const file = {
      providers: { brave: { type: "brave", url: upstream.url, apiKeys: ["bad", "good"] } },
      targets: { alpha_search: [{ provider: "brave" }] }
    }
    const search = (query: string) => Effect.exit(searchProviders(searchRequest({ query })))
    return { upstream, search, layer: providers(file).pipe(Layer.provideMerge(ProviderStates.layer)) }
  })

const keysOf = (received: ReadonlyArray<{ readonly headers: Record<string, unknown> }>) =>
  received.map(({ headers }) => headers["x-subscription-token"])

describe("refusals of a provider", () => {
  it.live("a rejected key with an unusual status goes on to the next key at once", () =>
    Effect.gen(function* () {
      const rejected = json({ type: "ErrorResponse", error: { status: 422, code: "SUBSCRIPTION_TOKEN_INVALID" } }, 422)
      const { layer, search, upstream } = yield* brave(rejected, answer)
      const exit = yield* search("harbour").pipe(Effect.provide(layer))
      assert.strictEqual(exit._tag, "Success")
      assert.deepStrictEqual(keysOf(upstream.received), ["bad", "good"])
    })
  )

  for (const status of [400, 422]) {
    it.live(
      `a ${status} about the search itself never cools the provider or a key down, even if it quotes other words`,
      () =>
        Effect.gen(function* () {
          const invalid = json({ error: { code: "VALIDATION", detail: "query 'api key quota' is not valid" } }, status)
          const { layer, search, upstream } = yield* brave(invalid)
          yield* Effect.gen(function* () {
            for (let n = 0; n < 8; n++) yield* search("api key quota")
            const [state] = yield* (yield* ProviderStates).all
            assert.strictEqual(state?.phase, "closed")
          }).pipe(Effect.provide(layer))
          assert.lengthOf(upstream.received, 8)
        })
    )
  }

  it.live("a byte order mark before the JSON is skipped", () =>
    Effect.gen(function* () {
      const marked: Answer = (_, response) =>
        response
          .writeHead(200, { "content-type": "application/json" })
          .end(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('{"web":{"results":[]}}')]))
      const { layer, search } = yield* brave(marked)
      assert.strictEqual((yield* search("harbour").pipe(Effect.provide(layer)))._tag, "Success")
    })
  )

  it("Retry-After: fractions are rounded up; anything but a future time is ignored", () => {
    const now = Date.parse("2026-11-27T10:00:00Z")
    const table: ReadonlyArray<readonly [header: string | undefined, ms: number | undefined]> = [
      ["2", 2_000],
      ["1.5", 2_000],
      ["0.2", 1_000],
      [" 3 ", 3_000],
      ["0", 0],
      ["-5", undefined],
      ["-0.5", undefined],
      ["soon", undefined],
      ["1e3", undefined],
      ["", undefined],
      [undefined, undefined],
      ["Fri, 27 Nov 2026 10:00:30 GMT", 30_000],
      ["Friday, 27-Nov-26 10:00:30 GMT", 30_000],
      ["Fri, 27 Nov 2026 09:00:00 GMT", undefined]
    ]
    for (const [header, ms] of table) assert.strictEqual(retryAfterOf(header, now), ms, `${header}`)
  })
})
