import { assert, describe, it } from "@effect/vitest"
import { Clock, type Duration, Effect, Fiber, Layer, Result } from "effect"
import { Refusal } from "../../../src/domain/providers/Refusal.ts"
import type { Capabilities } from "../../../src/domain/search/Capabilities.ts"
import { QueryLog } from "../../../src/services/charging/QueryLog.ts"
import { Attempts } from "../../../src/services/providers/Attempts.ts"
import type { Fusion, Provider, ProviderEntry } from "../../../src/services/providers/Provider.ts"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import { Providers, type ProviderTable } from "../../../src/services/providers/Providers.ts"
import { Search } from "../../../src/services/search/Search.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { searchRequest } from "../../support/api/requests.ts"
import { aCaller, aRequest, services } from "../../support/api/Services.ts"
import { advance, searchProviders } from "../../support/Time.ts"

const rows = (names: string) =>
  Array.from(names, (name) => ({ url: `https://${name}.test/`, title: name, snippet: "" }))

const answers = (name: string, found: string, after: Duration.Input = 0): Provider => ({
  name,
  search: () => Effect.delay(Effect.succeed(rows(found)), after)
})

const hangs = (name: string, onInterrupt = () => {}): Provider => ({
  name,
  search: () => Effect.onInterrupt(Effect.never, () => Effect.sync(onInterrupt))
})

const fails = (name: string, after: Duration.Input = 0): Provider => ({
  name,
  search: () => Effect.delay(Effect.fail(new Refusal({ reason: "blocked", message: "no" })), after)
})

const fuse = (members: ReadonlyArray<Provider>, options: Partial<Fusion> = {}): Fusion => ({
  fuse: members,
  need: 1,
  waitMs: 1_500,
  ...options
})

const tableOf = (alpha: ReadonlyArray<ProviderEntry>, more: Partial<ProviderTable> = {}): ProviderTable => ({
  alpha_search: alpha,
  beta_search: [],
  gamma_search: [],
  delta_search: [],
  epsilon_search: [],
  zeta_search: [],
  ...more
})

const layerOf = (table: ProviderTable) =>
  Layer.provide(Providers.layer(table), [ProviderStates.layer, StandardSettings.layer])

/** The end of a search: what it found, and after how many milliseconds of its 15 seconds. */
const search = (alpha: ReadonlyArray<ProviderEntry>, request = searchRequest()) =>
  Effect.gen(function* () {
    const attempts = new Attempts()
    const run = Effect.gen(function* () {
      const end = yield* Effect.result(searchProviders(request, attempts))
      const ms = yield* Clock.currentTimeMillis
      return Result.isSuccess(end)
        ? { ms, found: end.success.ranking.results.map(({ title }) => title).join(""), provider: end.success.provider }
        : { ms, error: end.failure._tag }
    })
    const fiber = yield* Effect.forkChild(run)
    for (let n = 0; n < 200; n++) yield* advance("100 millis")
    const end = yield* Fiber.join(fiber)
    return { ...end, refusals: attempts.refusals("error" in end, end.ms) }
  }).pipe(Effect.provide(layerOf(tableOf(alpha))))

describe("R63: several engines at once", () => {
  it.effect("the lists are merged, and the search ends when all have answered", () =>
    Effect.gen(function* () {
      const end = yield* search([fuse([answers("one", "abc", 300), answers("two/x", "cda", 700)])])
      assert.deepStrictEqual(end, {
        ms: 700,
        found: "acbd",
        provider: "one + two/x",
        refusals: [
          { provider: "one", reason: "merged", ms: 300, only: 1 },
          { provider: "two/x", reason: "merged", ms: 700, only: 1 }
        ]
      })
    })
  )

  it.effect("with one engine hanging, the latency is exactly the fast engine's and the wait", () =>
    Effect.gen(function* () {
      let interrupted = 0
      const end = yield* search([fuse([hangs("slow", () => interrupted++), answers("fast", "ab", 200)])])
      assert.deepStrictEqual(end, {
        ms: 1_700,
        found: "ab",
        provider: "fast",
        refusals: [
          { provider: "slow", reason: "timeout", ms: 1_700 },
          { provider: "fast", reason: "merged", ms: 200, only: 2 }
        ]
      })
      assert.strictEqual(interrupted, 1)
    })
  )

  it.effect("a failed engine does not delay the others", () =>
    Effect.gen(function* () {
      const end = yield* search([fuse([fails("broken", 100), answers("fast", "ab", 200)])])
      assert.deepInclude(end, { ms: 200, found: "ab" })
      assert.deepStrictEqual(end.refusals[0], { provider: "broken", reason: "blocked", ms: 100 })
    })
  )

  it.effect("the wait starts with the answer that is needed", () =>
    Effect.gen(function* () {
      const members = [answers("a", "a", 100), answers("b", "b", 900), hangs("c")]
      const end = yield* search([fuse(members, { need: 2, waitMs: 500 })])
      assert.deepInclude(end, { ms: 1_400, found: "ab", provider: "a + b" })
    })
  )

  it.effect("an engine that answers within the wait is merged", () =>
    Effect.gen(function* () {
      const end = yield* search([fuse([answers("a", "a", 100), answers("b", "b", 1_600)])])
      assert.deepInclude(end, { ms: 1_600, found: "ab" })
    })
  )

  it.effect("with fewer answers than needed, the search fails as soon as that is certain", () =>
    Effect.gen(function* () {
      const end = yield* search([fuse([answers("a", "a", 100), fails("b", 300), hangs("c")], { need: 3 })])
      assert.deepInclude(end, { ms: 300, error: "upstream_error" })
    })
  )

  it.effect("R14: fewer answers than needed at the end of the time are an upstream error", () =>
    Effect.gen(function* () {
      const end = yield* search([fuse([answers("a", "a", 100), hangs("b")], { need: 2 })])
      assert.deepInclude(end, { ms: 14_900, error: "upstream_error" })
    })
  )

  it.effect("an empty page is an answer", () =>
    Effect.gen(function* () {
      const end = yield* search([fuse([answers("a", "", 100), answers("b", "", 200)], { need: 2 })])
      assert.deepInclude(end, { ms: 200, found: "" })
    })
  )

  it.effect("a fused entry is one of a failover list", () =>
    Effect.gen(function* () {
      const fused = fuse([fails("a"), fails("b")])
      assert.deepInclude(yield* search([fused, answers("last", "z")]), { found: "z", provider: "last" })
      assert.deepInclude(yield* search([fails("first"), fuse([answers("a", "a"), answers("b", "b")])]), { found: "ab" })
    })
  )

  it.effect("a member in a cool-down is not called while enough others are left", () =>
    Effect.gen(function* () {
      let calls = 0
      const broken: Provider = {
        name: "broken",
        search: () =>
          Effect.suspend(() => Effect.fail(new Refusal({ reason: "unauthorized", message: String(++calls) })))
      }
      yield* Effect.gen(function* () {
        for (let n = 0; n < 3; n++) yield* searchProviders(searchRequest())
      }).pipe(Effect.provide(layerOf(tableOf([fuse([broken, answers("good", "a")])]))))
      assert.strictEqual(calls, 1)
    })
  )

  it.effect("one search is one credit, and the log has each engine's call", () =>
    Effect.gen(function* () {
      const { account, principal } = yield* aCaller({ plan: "business" })
      const { body, receipt } = yield* (yield* Search).run(principal, aRequest)
      assert.isTrue(Result.isSuccess(body))
      assert.strictEqual(receipt.creditsUsed, 1)
      const [entry] = yield* (yield* QueryLog).recent(account.id, 1)
      assert.strictEqual(entry?.provider, "one + two")
      assert.deepStrictEqual(entry?.refusals, [
        { provider: "one", reason: "merged", ms: 0, only: 2 },
        { provider: "two", reason: "merged", ms: 0, only: 1 }
      ])
    }).pipe(Effect.provide(services(layerOf(tableOf([fuse([answers("one", "abc"), answers("two", "cd")])])))))
  )
})

const plain: Capabilities = {
  paging: { kind: "first", maxRows: 100 },
  safe: ["off"],
  countries: "none",
  languages: "none"
}

const able = (name: string, options?: Capabilities["options"]): Provider => ({
  ...answers(name, name.slice(0, 1)),
  capabilities: { ...plain, ...(options === undefined ? {} : { options }) }
})

describe("R62: options that a target's providers do not support", () => {
  const table = tableOf([able("plain"), able("dated", { dates: true })], {
    beta_search: [able("plain")],
    gamma_search: [able("gone", { freshness: ["day"], news: true })],
    labels: { beta_search: { name: "Plain search" } }
  })
  const unsupported = (fields: Parameters<typeof searchRequest>[0]) =>
    Effect.flatMap(Providers, ({ check }) => check(searchRequest(fields))).pipe(
      Effect.catchTag("unsupported_parameter", ({ message }) => Effect.succeed(message)),
      Effect.provide(layerOf(table))
    )

  it.effect("a provider that does not support one is skipped", () =>
    Effect.gen(function* () {
      const found = yield* search(
        [able("plain"), able("dated", { dates: true })],
        searchRequest({ options: { after: "2026-01-01" } })
      )
      assert.deepInclude(found, { found: "d", provider: "dated" })
    })
  )

  it.effect("if none is left, the error names the target, the parameter and the targets that support it", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* unsupported({}))
      assert.isUndefined(yield* unsupported({ options: { after: "2026-01-01" } }))
      assert.strictEqual(
        yield* unsupported({ target: "beta_search", options: { freshness: "day" } }),
        "beta_search (Plain search) does not support freshness as sent. These targets do: alpha_search, gamma_search."
      )
      assert.strictEqual(
        yield* unsupported({ target: "beta_search", options: { includeDomains: ["a.org"] } }),
        "beta_search (Plain search) does not support include_domains as sent. No target of this server does."
      )
      // Every provider supports exclusions, because Quarry removes the results itself.
      assert.isUndefined(yield* unsupported({ target: "beta_search", options: { excludeDomains: ["a.org"] } }))
    })
  )

  it.effect("nothing is charged and nothing is logged", () =>
    Effect.gen(function* () {
      const { account, principal } = yield* aCaller({ plan: "business" })
      const error = yield* Effect.flip((yield* Search).run(principal, { ...aRequest, options: { topic: "news" } }))
      assert.strictEqual(error._tag, "unsupported_parameter")
      assert.deepStrictEqual(yield* (yield* QueryLog).recent(account.id, 1), [])
    }).pipe(Effect.provide(services(layerOf(table))))
  )
})
