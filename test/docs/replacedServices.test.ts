import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Redacted } from "effect"
import { Ledger } from "../../src/services/credits/Ledger.ts"
import { RateLimiter } from "../../src/services/credits/RateLimiter.ts"
import { KeyStore } from "../../src/services/keys/KeyStore.ts"
import type { Provider } from "../../src/services/providers/Provider.ts"
import { ProviderStates } from "../../src/services/providers/ProviderStates.ts"
import { Providers } from "../../src/services/providers/Providers.ts"
import * as StandardSettings from "../../src/testing/StandardSettings.ts"
import { searchRequest } from "../support/api/requests.ts"
import * as MemoryStorage from "../support/stores/MemoryStorage.ts"
import { searchProviders } from "../support/Time.ts"

/* The examples in the doc comments of the services that developers replace. */

const countedLedger = Layer.effect(
  Ledger,
  Effect.map(Ledger, (ledger) => ({
    ...ledger,
    sweep: Effect.tap(ledger.sweep, (count) => Effect.logInfo(`${count} holds had expired.`))
  }))
)

const unlimited = Layer.succeed(RateLimiter, {
  hit: ({ limit }) =>
    Effect.succeed({ admitted: true, limit, remaining: limit, resetAtSeconds: 0, retryAfterSeconds: 1 })
})

const mine: Provider = {
  name: "mine",
  search: ({ query }) => Effect.succeed([{ url: "https://example.com/", title: query, snippet: "" }])
}
const providers = Providers.layer({
  alpha_search: [mine],
  beta_search: [],
  gamma_search: [],
  delta_search: [],
  epsilon_search: [],
  zeta_search: []
})

const watchedKeys = Layer.effect(
  KeyStore,
  Effect.map(KeyStore, (keys) => ({
    ...keys,
    authenticate: (secret: Redacted.Redacted) =>
      Effect.tapError(keys.authenticate(secret), () => Effect.logWarning("A key was not accepted."))
  }))
)

const exampleIn = (service: string): string => {
  const text = readFileSync(fileURLToPath(new URL(`../../src/services/${service}.ts`, import.meta.url)), "utf8")
  return (/^ \* ```ts\n(.*?)^ \* ```$/ms.exec(text)?.[1] ?? assert.fail(`${service} has no example`)).replaceAll(
    /^ \* /gm,
    ""
  )
}

describe("the examples of providing a service", () => {
  for (const service of ["credits/Ledger", "credits/RateLimiter", "keys/KeyStore", "providers/Providers"]) {
    it(`services/${service}.ts has the code of this file, which compiles`, () => {
      assert.include(readFileSync(fileURLToPath(import.meta.url), "utf8"), exampleIn(service))
    })
  }

  it.effect("work", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* (yield* Ledger).sweep, 0)
      const decision = yield* (yield* RateLimiter).hit({ credential: "key_1", limit: 1 })
      assert.isTrue(decision.admitted)
      assert.isTrue(Exit.isFailure(yield* Effect.exit((yield* KeyStore).authenticate(Redacted.make("unknown")))))
      const { ranking } = yield* searchProviders(searchRequest({ query: "css grid" }))
      assert.strictEqual(ranking.results[0]?.title, "css grid")
    }).pipe(
      Effect.provide([unlimited, Layer.provide(Layer.merge(countedLedger, watchedKeys), MemoryStorage.layer)]),
      Effect.provide(providers.pipe(Layer.provide([ProviderStates.layer, StandardSettings.layer])))
    )
  )
})
