import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import type { AccountPrincipal } from "../../../src/domain/accounts/Principal.ts"
import { Refusal, type RefusalReason } from "../../../src/domain/providers/Refusal.ts"
import { parseBulk } from "../../../src/domain/search/BulkRequest.ts"
import type { Capabilities } from "../../../src/domain/search/Capabilities.ts"
import { QueryLog } from "../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import type { Provider } from "../../../src/services/providers/Provider.ts"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import { Providers } from "../../../src/services/providers/Providers.ts"
import { Bulk } from "../../../src/services/search/Bulk.ts"
import { Search } from "../../../src/services/search/Search.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { aCaller, aRequest, type Caller, found, services } from "../../support/api/Services.ts"

let asked = 0

const refuses = (name: string, reason: RefusalReason): Provider => ({
  name,
  search: () => {
    asked++
    return Effect.fail(new Refusal({ reason, message: "no" }))
  }
})

const answers: Provider = { name: "good", search: () => Effect.succeed(found(1).rows) }

const small: Capabilities = {
  paging: { kind: "first", maxRows: 100 },
  safe: ["off"],
  countries: "none",
  languages: "none",
  maxQueryWords: 2
}

const withProviders = (...alpha: ReadonlyArray<Provider>) => {
  const table = { beta_search: [], gamma_search: [], delta_search: [], epsilon_search: [], zeta_search: [] }
  asked = 0
  return Effect.provide(
    services(
      Providers.layer({ ...table, alpha_search: alpha }).pipe(
        Layer.provide([ProviderStates.layer, StandardSettings.layer])
      )
    )
  )
}

const books = Effect.fnUntraced(function* ({ account }: Caller) {
  const { used } = yield* (yield* Ledger).allowance(account)
  const log = yield* (yield* QueryLog).recent(account.id, 100)
  return { used, logged: log.length }
})

const messageOf = (body: Result.Result<unknown, { readonly message: string }>) =>
  Result.isFailure(body) ? body.failure.message : "succeeded"

const bulkOf = (...queries: ReadonlyArray<unknown>) => Result.getOrThrow(parseBulk({ queries }))

describe("a search for which no provider is asked", () => {
  it.effect("R76: is charged and logged while the provider was asked, and neither during its cool-down", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "growth" })
      const search = yield* Search
      const first = yield* search.run(caller.principal, aRequest)
      assert.strictEqual(first.receipt.creditsUsed, 1)
      const second = yield* search.run(caller.principal, aRequest)
      assert.strictEqual(
        messageOf(second.body),
        "No search provider was asked, because all of them are cooling down after errors. " +
          "Nothing was charged; try again in a minute."
      )
      assert.deepInclude(second, { entry: undefined })
      assert.strictEqual(second.receipt.creditsUsed, 0)
      assert.deepStrictEqual(yield* books(caller), { used: 1, logged: 1 })
      assert.strictEqual(asked, 1)
    }).pipe(withProviders(refuses("poor", "quota")))
  )

  it.effect("R76: is free if every provider is unable to serve it, and says that another target may", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "growth" })
      const { body, receipt } = yield* (yield* Search).run(caller.principal, { ...aRequest, query: "three words here" })
      assert.match(
        messageOf(body),
        /^No search provider was asked, .* unable to serve this search\. Nothing was charged/
      )
      assert.strictEqual(receipt.creditsUsed, 0)
      assert.deepStrictEqual(yield* books(caller), { used: 0, logged: 0 })
    }).pipe(withProviders({ ...answers, capabilities: small }))
  )

  it.effect("R76: is charged as before if one provider was asked, even if the others were not", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "growth" })
      const search = yield* Search
      for (const _ of [1, 2]) yield* search.run(caller.principal, aRequest)
      assert.deepStrictEqual(yield* books(caller), { used: 2, logged: 2 })
      assert.strictEqual(asked, 3)
    }).pipe(withProviders(refuses("poor", "quota"), refuses("broken", "unreachable")))
  )

  it.effect("R76: rows count in `failed`, and only rows that were sent are charged and logged", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "growth" })
      const { body, receipt } = yield* (yield* Bulk).run(
        caller.principal,
        bulkOf("one", "two words", "now three words")
      )
      assert.deepStrictEqual(
        body.results.map((row) => (row.status === "ok" ? row.query : row.error)),
        ["one", "two words", "upstream_error"]
      )
      assert.deepInclude(body, { total: 3, succeeded: 2, failed: 1 })
      assert.strictEqual(receipt.creditsUsed, 2)
      assert.deepStrictEqual(yield* books(caller), { used: 2, logged: 2 })
    }).pipe(withProviders({ ...answers, capabilities: small }))
  )

  it.effect("R76: a streamed batch charges no row that was not sent", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "growth" })
      const { take } = yield* (yield* Bulk).stream(caller.principal, bulkOf("one", "now three words"))
      const lines = []
      for (let batch = yield* take; batch.length > 0; batch = yield* take) lines.push(...batch)
      assert.deepInclude(lines.at(-1), { type: "summary", succeeded: 1, failed: 1, credits_used: 1 })
      assert.deepStrictEqual(yield* books(caller), { used: 1, logged: 1 })
    }).pipe(Effect.scoped, withProviders({ ...answers, capabilities: small }))
  )

  it.effect("R44: with a key it is run again, because it was not charged", () =>
    Effect.gen(function* () {
      const caller = yield* aCaller({ plan: "growth" })
      // The cast: a key belongs to an account.
      const principal = caller.principal as AccountPrincipal
      const search = yield* Search
      yield* search.run(principal, { ...aRequest, query: "spend" })
      const first = yield* search.runKeyed(principal, aRequest, "key")
      assert.strictEqual(first.receipt.creditsUsed, 0)
      yield* TestClock.adjust("6 minutes")
      const again = yield* search.runKeyed(principal, aRequest, "key")
      assert.isTrue(Result.isSuccess(again.body))
      assert.strictEqual(again.receipt.creditsUsed, 1)
      const batch = yield* (yield* Bulk).runKeyed(principal, bulkOf("a b c d"), "batch")
      assert.strictEqual(batch.receipt.creditsUsed, 0)
      assert.isUndefined((yield* (yield* Bulk).runKeyed(principal, bulkOf("a b c d"), "batch")).receipt.isReplay)
    }).pipe(
      withProviders({
        name: "recovers",
        capabilities: small,
        search: ({ query }) =>
          query === "spend" ? Effect.fail(new Refusal({ reason: "quota", message: "spent" })) : answers.search(aRequest)
      })
    )
  )
})
