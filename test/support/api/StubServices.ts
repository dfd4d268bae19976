import { Effect, Layer, Redacted, Result } from "effect"
import type { KeyPrincipal } from "../../../src/domain/accounts/Principal.ts"
import { unauthorized } from "../../../src/domain/errors.ts"
import { Ranking } from "../../../src/domain/search/Ranking.ts"
import type { SearchRequest } from "../../../src/domain/search/SearchRequest.ts"
import * as Ids from "../../../src/layers/Ids.ts"
import { AccessTokens } from "../../../src/services/accounts/AccessTokens.ts"
import { AccountRemoval } from "../../../src/services/accounts/AccountRemoval.ts"
import { Activity } from "../../../src/services/accounts/Activity.ts"
import { AuthorizationRequests } from "../../../src/services/accounts/AuthorizationRequests.ts"
import { AuthRoutes } from "../../../src/services/accounts/AuthRoutes.ts"
import { ConnectedApps } from "../../../src/services/accounts/ConnectedApps.ts"
import { Credentials } from "../../../src/services/accounts/Credentials.ts"
import { Invitations } from "../../../src/services/accounts/Invitations.ts"
import { Marketplace } from "../../../src/services/accounts/Marketplace.ts"
import { Members } from "../../../src/services/accounts/Members.ts"
import { Sessions } from "../../../src/services/accounts/Sessions.ts"
import { SignIn } from "../../../src/services/accounts/SignIn.ts"
import { Billing } from "../../../src/services/billing/Billing.ts"
import { BillingBooks } from "../../../src/services/billing/BillingBooks.ts"
import { QueryLog } from "../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { RateLimiter } from "../../../src/services/credits/RateLimiter.ts"
import { KeyStore } from "../../../src/services/keys/KeyStore.ts"
import { Readiness } from "../../../src/services/operations/Readiness.ts"
import { PageBatches } from "../../../src/services/pages/PageBatches.ts"
import { Pages } from "../../../src/services/pages/Pages.ts"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import { StoreClock } from "../../../src/services/StoreClock.ts"
import { Bulk } from "../../../src/services/search/Bulk.ts"
import { Search } from "../../../src/services/search/Search.ts"
import { EventBooks } from "../../../src/services/webhooks/EventBooks.ts"
import { EventEmails } from "../../../src/services/webhooks/EventEmails.ts"
import { Webhooks } from "../../../src/services/webhooks/Webhooks.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { logEntry } from "./requests.ts"

/** The secret of the only key. */
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

/** Services for tests of the listener: one key, no limits, and searches that return nothing after `during`. */
export const layer = (during: (request: SearchRequest) => Effect.Effect<void>) =>
  Layer.provideMerge(Credentials.layer, stubs(during))

const stubs = (during: (request: SearchRequest) => Effect.Effect<void>) =>
  Layer.mergeAll(
    StandardSettings.layer,
    Layer.mock(KeyStore, {
      authenticate: (presented) =>
        Redacted.value(presented) === secret ? Effect.succeed(principal) : Effect.fail(unauthorized)
    }),
    Layer.mock(RateLimiter, {
      hit: () =>
        Effect.succeed({ admitted: true, limit: 1000, remaining: 999, resetAtSeconds: 1, retryAfterSeconds: 1 })
    }),
    Layer.mock(Activity, {}),
    Layer.mock(Members, {}),
    Layer.mock(Invitations, {}),
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
    Layer.mock(SignIn, { providers: [], hasPasswords: true, deliversEmails: false, signUpMode: "open" }),
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
    StoreClock.own,
    Readiness.layer,
    ProviderStates.layer
  )
