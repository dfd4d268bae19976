import { Clock, Duration, Effect, Layer, Redacted } from "effect"
import { HttpServer } from "effect/http"
import type { Account } from "../../../src/domain/accounts/Account.ts"
import type { Principal } from "../../../src/domain/accounts/Principal.ts"
import type { UpstreamError, UpstreamTimeout } from "../../../src/domain/errors.ts"
import type { KeyMode } from "../../../src/domain/keys/ApiKey.ts"
import type { UpstreamRow } from "../../../src/domain/search/Organic.ts"
import type { SearchRequest } from "../../../src/domain/search/SearchRequest.ts"
import { Accounts, type PlanChoice } from "../../../src/services/accounts/Accounts.ts"
import type { Activity } from "../../../src/services/accounts/Activity.ts"
import { TrustedProxies } from "../../../src/services/accounts/TrustedProxies.ts"
import type { BillingBooks } from "../../../src/services/billing/BillingBooks.ts"
import type { QueryLog } from "../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { decisionFrom, RateLimiter } from "../../../src/services/credits/RateLimiter.ts"
import type { Ids } from "../../../src/services/Ids.ts"
import { KeyStore } from "../../../src/services/keys/KeyStore.ts"
import type { Providers } from "../../../src/services/providers/Providers.ts"
import type { StoreClock } from "../../../src/services/StoreClock.ts"
import type { EventBooks } from "../../../src/services/webhooks/EventBooks.ts"
import * as InMemory from "../../../src/testing/InMemory.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import * as MemoryStorage from "../stores/MemoryStorage.ts"
import { searchRequest } from "./requests.ts"

export const demoOrigin = "https://www.quarry.test"
export const marketplaceSecret = "the-secret-of-the-marketplace-proxy"

export const settings = Layer.merge(StandardSettings.layer, Layer.succeed(TrustedProxies, 1))

/** All services on a storage, with the test's clock and providers, behind one trusted proxy. */
export const servicesOver = <S, E, R>(
  storage: Layer.Layer<
    Accounts | Activity | BillingBooks | EventBooks | Ids | KeyStore | Ledger | QueryLog | StoreClock | S,
    E,
    R
  >,
  providers: Layer.Layer<Providers>,
  options: InMemory.Options = {}
) =>
  InMemory.layerOver(storage, providers, {
    demoOrigin,
    marketplaceSecret: Redacted.make(marketplaceSecret),
    settings,
    ...options
  }).pipe(Layer.provideMerge(HttpServer.layerServices))

export const services = (
  providers: Layer.Layer<Providers>,
  cache: { readonly ttlSeconds: number } = { ttlSeconds: 300 },
  ledger: Layer.Layer<Ledger, never, Ledger> = Layer.effect(Ledger, Ledger)
) =>
  servicesOver(ledger.pipe(Layer.provideMerge(MemoryStorage.layer)), providers, {
    cacheTtl: Duration.seconds(cache.ttlSeconds)
  })

/** A limiter that admits everything, for tests with more requests than a minute admits. */
export const unlimited = Layer.succeed(RateLimiter, {
  hit: ({ limit }) =>
    Effect.map(Clock.currentTimeMillis, (nowMs) =>
      decisionFrom({ admitted: true, limit, counted: 0, oldestMs: nowMs, nowMs })
    )
})

interface ProviderRows {
  readonly provider: string
  readonly rows: ReadonlyArray<UpstreamRow>
}

/** Providers that answer according to the test. */
export const providing = (
  search: (request: SearchRequest) => Effect.Effect<ProviderRows, UpstreamError | UpstreamTimeout>
): Layer.Layer<Providers> => InMemory.providers((request) => Effect.map(search(request), ({ rows }) => rows))

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
  /** Headers with the key. */
  readonly auth: Record<string, string>
}

let callers = 0

/** Creates another key of an account. */
export const aKeyOf = Effect.fnUntraced(function* ({ account }: Pick<Caller, "account">, mode: KeyMode) {
  const { key, secret } = yield* Effect.flatMap(KeyStore, (keys) => keys.create(account.id, { label: "test", mode }))
  const text = Redacted.value(secret)
  const principal: Principal = { _tag: "key", account, key: { id: key.id, label: key.label, mode: key.mode } }
  return { account, principal, secret: text, auth: { authorization: `Bearer ${text}` } } satisfies Caller
}, Effect.orDie)

/** Creates an account with one live key. */
export const aCaller = Effect.fnUntraced(function* (choice: PlanChoice) {
  const account = yield* Effect.flatMap(Accounts, (accounts) =>
    accounts.create({ ...choice, email: `caller${++callers}@example.com` })
  )
  return yield* aKeyOf({ account }, "live")
}, Effect.orDie)

/** Creates an account and returns its principal. */
export const aPrincipal = Effect.map(
  Effect.suspend(() => aCaller({ plan: "trial" })),
  ({ principal }) => principal
)
