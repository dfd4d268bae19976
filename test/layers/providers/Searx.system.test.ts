import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import { Search } from "../../../src/services/search/Search.ts"
import * as ProviderTable from "../../support/api/ProviderTable.ts"
import { searchRequest } from "../../support/api/requests.ts"
import { aPrincipal, services } from "../../support/api/Services.ts"
import { describeWithSearx, searx } from "../../support/servers/Searx.ts"
import { json, type Received, serve } from "../../support/servers/UpstreamServer.ts"

/** A running searx, and what its engines were asked. */
class Instance extends Context.Service<
  Instance,
  { readonly url: string; readonly received: ReadonlyArray<Received> }
>()("test/Searx") {
  /** Ten rows a page: 1 to 10, then 10 again under another address to 19, 20 to 29, and so on. */
  static readonly layer = Layer.effect(
    Instance,
    Effect.gen(function* () {
      const { received, url } = yield* serve((received, response) => {
        const first = (Number(received.query.get("page")) - 1) * 10
        const results = Array.from({ length: 10 }, (_, index) => {
          const repeated = index === 0 && first > 0
          const n = first + index + (first === 0 ? 1 : 0)
          const address = `https://example.test/${n}${repeated ? "?utm_source=x" : ""}`
          return { url: address, title: `Title ${n}`, content: `Snippet ${n}` }
        })
        json(received.path === "/blocked" ? {} : { results }, received.path === "/blocked" ? 403 : 200)(
          received,
          response
        )
      })
      return { url: yield* searx(new URL(url).port), received }
    })
  )
}

/** Searches one engine as the service does, several times; the outcomes in the API's words. */
const searches = (engine: string, ...requests: ReadonlyArray<Parameters<typeof searchRequest>[0]>) =>
  Effect.gen(function* () {
    const { received, url } = yield* Instance
    const before = received.length
    const file = {
      providers: { meta: { type: "searxng", url } },
      targets: { alpha_search: [{ provider: "meta", engine }] }
    }
    const providers = ProviderTable.providers(file).pipe(Layer.provide(ProviderStates.layer))
    return yield* Effect.gen(function* () {
      const { run } = yield* Search
      const outcomes: Array<string | ReadonlyArray<string>> = []
      for (const fields of requests) {
        const { body } = yield* run(yield* aPrincipal, searchRequest(fields))
        outcomes.push(body._tag === "Success" ? body.success.ranking.results.map(({ url }) => url) : body.failure._tag)
      }
      const [state] = yield* (yield* ProviderStates).all
      return { outcomes, refusal: state?.lastRefusal, asked: received.slice(before) }
    }).pipe(Effect.provide(services(providers).pipe(Layer.provideMerge(ProviderStates.layer)), { local: true }))
  }).pipe(Effect.orDie)

const address = (n: number) => `https://example.test/${n}`

describeWithSearx("a real searx", () => {
  layer(Instance.layer, { excludeTestServices: true, timeout: 60_000 })("on one instance", (it) => {
    it.effect("R12: answers through the service, without the page's repeated row", () =>
      Effect.gen(function* () {
        const { outcomes } = yield* searches("steady", { num: 20 })
        assert.deepStrictEqual(
          outcomes[0],
          Array.from({ length: 19 }, (_, index) => address(index + 1))
        )
      })
    )

    it.effect("R13: page 3 of 10 is the third upstream page, page 2 of 20 the third and fourth", () =>
      Effect.gen(function* () {
        const { asked, outcomes } = yield* searches("steady", { page: 3 }, { page: 2, num: 20 })
        assert.deepStrictEqual(asked.map(({ query }) => query.get("page")).sort(), ["3", "3", "4"])
        assert.deepStrictEqual([outcomes[0]?.at(-1), outcomes[0]?.length], [address(29), 10])
        assert.deepStrictEqual([outcomes[1]?.at(-1), outcomes[1]?.length], [address(39), 20])
      })
    )

    for (const query of ["!bl hello", "!!bl hello", ":de hello", "<3 hello", "hello !blocked", "!st !general hello"]) {
      it.effect(`searches for ${JSON.stringify(query)} as text, at the engine asked for`, () =>
        Effect.gen(function* () {
          const { asked, outcomes } = yield* searches("steady", { query })
          assert.strictEqual(outcomes[0]?.length, 10)
          assert.deepStrictEqual(
            asked.map(({ path, query }) => [path, query.get("q")?.replaceAll("'", "")]),
            [["/steady", query]]
          )
        })
      )
    }

    it.effect("R14: an engine that is blocked, and then suspended, is upstream_error and not an empty page", () =>
      Effect.gen(function* () {
        const { asked, outcomes, refusal } = yield* searches("blocked", {}, { query: "again" }, { query: "and again" })
        assert.deepStrictEqual(outcomes, ["upstream_error", "upstream_error", "upstream_error"])
        assert.strictEqual(refusal?.reason, "blocked")
        assert.isBelow(asked.length, 3, "searx suspends the engine itself")
      })
    )

    it.effect("an engine that it does not have is malformed, and gives no other engine's rows", () =>
      Effect.gen(function* () {
        const { outcomes, refusal } = yield* searches("google", {})
        assert.deepStrictEqual([outcomes, refusal?.reason], [["upstream_error"], "malformed"])
      })
    )
  })
})
