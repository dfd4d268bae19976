import { Duration, Effect, Layer, Redacted } from "effect"
import { HttpServer } from "effect/http"
import type { Account } from "../../src/domain/Account.ts"
import type { KeyMode } from "../../src/domain/ApiKey.ts"
import type { UpstreamError, UpstreamTimeout } from "../../src/domain/errors.ts"
import { Ranking, rank, type UpstreamRow } from "../../src/domain/Organic.ts"
import type { Principal } from "../../src/domain/Principal.ts"
import type { SearchRequest } from "../../src/domain/SearchRequest.ts"
import * as MarketplaceProxy from "../../src/layers/auth/MarketplaceProxy.ts"
import * as RateLimiterMemory from "../../src/layers/memory/RateLimiterMemory.ts"
import * as ResultCacheMemory from "../../src/layers/memory/ResultCacheMemory.ts"
import { AccountRemoval } from "../../src/services/AccountRemoval.ts"
import { Accounts, type PlanChoice } from "../../src/services/Accounts.ts"
import { Bulk } from "../../src/services/Bulk.ts"
import { Credentials } from "../../src/services/Credentials.ts"
import { Deployment } from "../../src/services/Deployment.ts"
import type { Ids } from "../../src/services/Ids.ts"
import { KeyStore } from "../../src/services/KeyStore.ts"
import { Ledger } from "../../src/services/Ledger.ts"
import { Providers } from "../../src/services/Providers.ts"
import type { QueryLog } from "../../src/services/QueryLog.ts"
import { RateLimiter } from "../../src/services/RateLimiter.ts"
import { Search } from "../../src/services/Search.ts"
import { TrustedProxies } from "../../src/services/TrustedProxies.ts"
import * as MemorySessions from "./MemorySessions.ts"
import * as MemoryStorage from "./MemoryStorage.ts"
import { searchRequest } from "./requests.ts"

export const demoOrigin = "https://www.quarry.test"
export const marketplaceSecret = "the-secret-of-the-marketplace-proxy"

/** What stands in front of every service: sessions in memory, a marketplace on the growth plan, one trusted proxy. */
const admission = Layer.mergeAll(Credentials.layer, AccountRemoval.layer).pipe(
  Layer.provide(MarketplaceProxy.layer({ secrets: [Redacted.make(marketplaceSecret)], plan: "growth" })),
  Layer.provideMerge(
    Layer.mergeAll(
      MemorySessions.layer,
      Layer.succeed(Deployment, { origin: "http://quarry.test", demoOrigin }),
      Layer.succeed(TrustedProxies, 1)
    )
  )
)

/** Every service over a storage, on the test's clock and with the providers of the test. */
export const servicesOver = <S, E, R>(
  storage: Layer.Layer<Accounts | Ids | KeyStore | Ledger | QueryLog | S, E, R>,
  providers: Layer.Layer<Providers>,
  options: { readonly cacheSeconds?: number; readonly limiter?: Layer.Layer<RateLimiter> } = {}
) =>
  Layer.mergeAll(Search.layer, Bulk.layer, admission).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        storage,
        options.limiter ?? RateLimiterMemory.layer(),
        ResultCacheMemory.layer({ ttl: Duration.seconds(options.cacheSeconds ?? 300), capacity: 10_000 }),
        providers,
        HttpServer.layerServices
      )
    )
  )

/** Every service, in memory. */
export const services = (
  providers: Layer.Layer<Providers>,
  cache: { readonly ttlSeconds: number } = { ttlSeconds: 300 },
  ledger: Layer.Layer<Ledger, never, Ledger> = Layer.effect(Ledger, Ledger)
) => servicesOver(ledger.pipe(Layer.provideMerge(MemoryStorage.layer)), providers, { cacheSeconds: cache.ttlSeconds })

/** A limiter that admits everything: for tables of more requests than a minute admits. */
export const unlimited = Layer.succeed(RateLimiter, {
  hit: ({ limit }) =>
    Effect.succeed({ admitted: true, limit, remaining: limit, resetAtSeconds: 60, retryAfterSeconds: 60 })
})

interface ProviderRows {
  readonly provider: string
  readonly rows: ReadonlyArray<UpstreamRow>
}

/** Providers that answer by a rule of the test. */
export const providing = (
  search: (request: SearchRequest) => Effect.Effect<ProviderRows, UpstreamError | UpstreamTimeout>
): Layer.Layer<Providers> =>
  Layer.succeed(Providers, {
    search: (request) =>
      Effect.map(search(request), ({ provider, rows }) => ({
        provider,
        ranking: new Ranking(rank(rows, request.num)),
        cached: false
      }))
  })

/** `count` rows of one provider. */
export const found = (count: number): ProviderRows => ({
  provider: "test",
  rows: Array.from(
    { length: count },
    (_, index): UpstreamRow => ({
      url: `https://www.example.com/${index + 1}`,
      title: `Title ${index + 1}`,
      snippet: `Snippet ${index + 1}`
    })
  )
})

export const aRequest = searchRequest({ query: "css grid" })

export interface Caller {
  readonly account: Account
  readonly principal: Principal
  readonly secret: string
  /** The headers that present the key. */
  readonly auth: Record<string, string>
}

let callers = 0

/** One more key of an account. */
export const aKeyOf = Effect.fnUntraced(function* ({ account }: Pick<Caller, "account">, mode: KeyMode) {
  const { key, secret } = yield* Effect.flatMap(KeyStore, (keys) => keys.create(account.id, { label: "test", mode }))
  const text = Redacted.value(secret)
  const principal: Principal = { _tag: "key", account, key: { id: key.id, label: key.label, mode: key.mode } }
  return { account, principal, secret: text, auth: { authorization: `Bearer ${text}` } } satisfies Caller
}, Effect.orDie)

/** An account of its own with one live key. */
export const aCaller = Effect.fnUntraced(function* (choice: PlanChoice) {
  const account = yield* Effect.flatMap(Accounts, (accounts) =>
    accounts.create({ ...choice, email: `caller${++callers}@example.com` })
  )
  return yield* aKeyOf({ account }, "live")
}, Effect.orDie)

/** A principal with an account of its own. */
export const aPrincipal = Effect.map(
  Effect.suspend(() => aCaller({ plan: "trial" })),
  ({ principal }) => principal
)
