import { Effect, Layer, Redacted, Result } from "effect"
import { unauthorized } from "../../src/domain/errors.ts"
import type { KeyPrincipal } from "../../src/domain/Principal.ts"
import { Ranking } from "../../src/domain/Ranking.ts"
import type { SearchRequest } from "../../src/domain/SearchRequest.ts"
import * as Ids from "../../src/layers/Ids.ts"
import { AccessTokens } from "../../src/services/AccessTokens.ts"
import { AccountRemoval } from "../../src/services/AccountRemoval.ts"
import { AuthorizationRequests } from "../../src/services/AuthorizationRequests.ts"
import { AuthRoutes } from "../../src/services/AuthRoutes.ts"
import { Billing } from "../../src/services/Billing.ts"
import { BillingBooks } from "../../src/services/BillingBooks.ts"
import { Bulk } from "../../src/services/Bulk.ts"
import { ConnectedApps } from "../../src/services/ConnectedApps.ts"
import { Credentials } from "../../src/services/Credentials.ts"
import { EventBooks } from "../../src/services/EventBooks.ts"
import { EventEmails } from "../../src/services/EventEmails.ts"
import { KeyStore } from "../../src/services/KeyStore.ts"
import { Ledger } from "../../src/services/Ledger.ts"
import { Marketplace } from "../../src/services/Marketplace.ts"
import { ProviderStates } from "../../src/services/ProviderStates.ts"
import { PageBatches } from "../../src/services/pages/PageBatches.ts"
import { Pages } from "../../src/services/pages/Pages.ts"
import { QueryLog } from "../../src/services/QueryLog.ts"
import { RateLimiter } from "../../src/services/RateLimiter.ts"
import { Readiness } from "../../src/services/Readiness.ts"
import { Search } from "../../src/services/Search.ts"
import { Sessions } from "../../src/services/Sessions.ts"
import { SignIn } from "../../src/services/SignIn.ts"
import { Webhooks } from "../../src/services/Webhooks.ts"
import { logEntry } from "./requests.ts"

/** The secret of the only key there is. */
export const secret = "sk_live_stub"

const principal: KeyPrincipal = {
  _tag: "key",
  account: {
    id: "acc_stub",
    email: "stub@example.test",
    plan: "growth",
    quota: 1000,
    concurrency: 5,
    cycleStart: undefined,
    createdAt: 0,
    suspendedAt: undefined
  },
  key: { id: "key_stub", label: "stub", mode: "live" }
}

const allowance = {
  plan: "growth",
  quota: 1000,
  used: 0,
  balance: 0,
  periodStart: 0,
  resetsAt: 1
} as const

const receipt = { creditsUsed: 1, before: allowance, balance: 0 }

const timings = { reserveMs: 0, settleMs: 0 }

/** Services for tests of the listener: one key, no limits, and searches that find nothing after `during`. */
export const layer = (during: (request: SearchRequest) => Effect.Effect<void>) =>
  Layer.provideMerge(Credentials.layer, stubs(during))

const stubs = (during: (request: SearchRequest) => Effect.Effect<void>) =>
  Layer.mergeAll(
    Layer.mock(KeyStore, {
      authenticate: (presented) =>
        Redacted.value(presented) === secret ? Effect.succeed(principal) : Effect.fail(unauthorized)
    }),
    Layer.mock(RateLimiter, {
      hit: () =>
        Effect.succeed({ admitted: true, limit: 1000, remaining: 999, resetAtSeconds: 1, retryAfterSeconds: 1 })
    }),
    Layer.mock(Ledger, { allowance: () => Effect.succeed(allowance) }),
    Layer.mock(Bulk, {
      run: () =>
        Effect.succeed({
          body: { batch_id: "bat_stub", total: 0, succeeded: 0, failed: 0, results: [] },
          receipt,
          timings
        })
    }),
    Layer.mock(Search, {
      run: (_, request) =>
        Effect.as(during(request), {
          body: Result.succeed({ id: "qry_stub", ...request, ranking: new Ranking([]) }),
          receipt,
          entry: logEntry({ id: "qry_stub", accountId: principal.account.id }, request.query),
          timings
        })
    }),
    Layer.mock(Pages, {}),
    Layer.mock(PageBatches, {}),
    Layer.mock(Sessions, { cookieName: "quarry.session_token" }),
    Layer.mock(SignIn, { providers: [], deliversEmails: false, signUpMode: "open" }),
    Layer.mock(AuthorizationRequests, {}),
    Layer.mock(AuthRoutes, {}),
    Layer.mock(AccessTokens, {}),
    Layer.mock(ConnectedApps, {}),
    Layer.mock(Marketplace, {}),
    Layer.mock(QueryLog, {}),
    Layer.mock(AccountRemoval, {}),
    Layer.mock(Billing, {}),
    Layer.mock(BillingBooks, {}),
    Layer.mock(EventBooks, {}),
    Layer.mock(EventEmails, { delivers: false, accountOf: () => undefined }),
    Layer.mock(Webhooks, {}),
    Ids.layer,
    Readiness.layer,
    ProviderStates.layer
  )
