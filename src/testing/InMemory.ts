import { Clock, Duration, Effect, Layer, type Redacted } from "effect"
import type { UpstreamError, UpstreamTimeout } from "../domain/errors.ts"
import { makeAdmits } from "../domain/options/SearchOptions.ts"
import { rank, type UpstreamRow } from "../domain/search/Organic.ts"
import { Ranking } from "../domain/search/Ranking.ts"
import type { SearchRequest } from "../domain/search/SearchRequest.ts"
import * as MarketplaceProxy from "../layers/auth/MarketplaceProxy.ts"
import * as BillingDisabled from "../layers/billing/BillingDisabled.ts"
import * as IdsRandom from "../layers/Ids.ts"
import * as RateLimiterMemory from "../layers/memory/RateLimiterMemory.ts"
import * as ResultCacheMemory from "../layers/memory/ResultCacheMemory.ts"
import { AccountRemoval } from "../services/accounts/AccountRemoval.ts"
import type { Accounts } from "../services/accounts/Accounts.ts"
import type { Activity } from "../services/accounts/Activity.ts"
import { Credentials } from "../services/accounts/Credentials.ts"
import type { Billing } from "../services/billing/Billing.ts"
import type { BillingBooks } from "../services/billing/BillingBooks.ts"
import type { BillingTerms } from "../services/billing/BillingTerms.ts"
import type { QueryLog } from "../services/charging/QueryLog.ts"
import type { Ledger } from "../services/credits/Ledger.ts"
import type { Plans } from "../services/credits/Plans.ts"
import type { RateLimiter } from "../services/credits/RateLimiter.ts"
import type * as Ids from "../services/Ids.ts"
import type { KeyStore } from "../services/keys/KeyStore.ts"
import { Deployment } from "../services/operations/Deployment.ts"
import type { PageFetcher } from "../services/pages/PageFetcher.ts"
import type { PageParser } from "../services/pages/PageParser.ts"
import { Providers } from "../services/providers/Providers.ts"
import { StoreClock } from "../services/StoreClock.ts"
import { Bulk } from "../services/search/Bulk.ts"
import { Search } from "../services/search/Search.ts"
import { deadlineIn } from "../services/waiting/Deadlines.ts"
import type { EventBooks } from "../services/webhooks/EventBooks.ts"
import { EventEmails } from "../services/webhooks/EventEmails.ts"
import { Webhooks } from "../services/webhooks/Webhooks.ts"
import * as AccountsMemory from "./AccountsMemory.ts"
import * as ActivityMemory from "./ActivityMemory.ts"
import * as BillingBooksMemory from "./BillingBooksMemory.ts"
import * as EventBooksMemory from "./EventBooksMemory.ts"
import * as KeyStoreMemory from "./KeyStoreMemory.ts"
import * as LedgerMemory from "./LedgerMemory.ts"
import * as MembersMemory from "./MembersMemory.ts"
import { MemoryStore } from "./MemoryStore.ts"
import * as PagesMemory from "./PagesMemory.ts"
import * as QueryLogMemory from "./QueryLogMemory.ts"
import * as SessionsMemory from "./SessionsMemory.ts"
import * as StandardSettings from "./StandardSettings.ts"
import * as WebhookClientMemory from "./WebhookClientMemory.ts"

/* All services without database, network or real clock. The conformance suites hold them to the real rules. */

export const storage = Layer.mergeAll(
  AccountsMemory.layer,
  ActivityMemory.layer,
  BillingBooksMemory.layer,
  EventBooksMemory.layer,
  KeyStoreMemory.layer,
  LedgerMemory.layer,
  QueryLogMemory.layer
).pipe(Layer.provide(StandardSettings.plans), Layer.provideMerge([MemoryStore.layer, IdsRandom.layer, StoreClock.own]))

export const providers = (
  search: (request: SearchRequest) => Effect.Effect<ReadonlyArray<UpstreamRow>, UpstreamError | UpstreamTimeout>
): Layer.Layer<Providers> =>
  Layer.succeed(Providers, {
    search: ({ attempts, request }) => {
      const answer = Effect.map(search(request), (rows) => ({
        provider: "test",
        ranking: new Ranking(rank(rows, request.num, makeAdmits(request.options))),
        cached: false
      }))
      return Clock.clockWith((clock) => {
        attempts.send(deadlineIn(clock, 0))
        return answer
      })
    },
    check: () => Effect.undefined,
    serves: () => Effect.succeed(true),
    labels: {},
    order: {}
  })

export interface Options {
  readonly cacheTtl?: Duration.Duration
  readonly limiter?: Layer.Layer<RateLimiter>
  readonly demoOrigin?: string
  readonly corsOrigins?: ReadonlyArray<string>
  readonly marketplaceSecret?: Redacted.Redacted
  readonly web?: Layer.Layer<PageFetcher | PageParser>
  readonly billing?: Layer.Layer<Billing, never, Accounts | BillingBooks | BillingTerms | Plans>
  readonly settings?: Layer.Layer<StandardSettings.StandardSettings>
}

/** Without a mail server. An unsubscribe link identifies its account by the plain ID. */
export const eventEmails = Layer.succeed(EventEmails, {
  delivers: false,
  send: () => Effect.void,
  accountOf: (token) => token
})

const defaultCacheTtl = Duration.minutes(5)

const maxCachedAnswers = 10_000

const origin = "http://quarry.test"

export const layerOver = <S, E, R>(
  storage: Layer.Layer<
    Accounts | Activity | BillingBooks | EventBooks | Ids.Ids | KeyStore | Ledger | QueryLog | StoreClock | S,
    E,
    R
  >,
  providers: Layer.Layer<Providers>,
  options: Options = {}
) => {
  const {
    billing = BillingDisabled.layer,
    cacheTtl = defaultCacheTtl,
    corsOrigins = [],
    demoOrigin,
    marketplaceSecret,
    settings = StandardSettings.layer
  } = options
  const { limiter = RateLimiterMemory.layer() } = options
  const secrets = marketplaceSecret === undefined ? [] : [marketplaceSecret]
  return Layer.mergeAll(
    Search.layer,
    Bulk.layer,
    PagesMemory.layer(options.web),
    Credentials.layer,
    AccountRemoval.layer,
    Webhooks.layer,
    billing
  ).pipe(
    Layer.provide(MarketplaceProxy.layer({ secrets, plan: "growth" })),
    Layer.provideMerge(Layer.merge(SessionsMemory.layer, MembersMemory.layer)),
    Layer.provideMerge(Layer.succeed(Deployment, { origin, demoOrigin, corsOrigins })),
    Layer.provideMerge(
      Layer.mergeAll(
        storage,
        WebhookClientMemory.layer,
        eventEmails,
        limiter,
        ResultCacheMemory.layer({ ttl: cacheTtl, capacity: maxCachedAnswers }),
        providers,
        settings
      )
    )
  )
}

export const layer = (providers: Layer.Layer<Providers>, options?: Options) => layerOver(storage, providers, options)
