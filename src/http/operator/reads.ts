import { Clock, Context, Effect, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { Account } from "../../domain/accounts/Account.ts"
import type { ActivityQuery } from "../../domain/accounts/ActivityQuery.ts"
import { requestsPerMinute } from "../../domain/credits/Plan.ts"
import { InvalidRequest } from "../../domain/errors.ts"
import type { Outcome } from "../../domain/log/LogEntry.ts"
import { type HistoryParameters, toHistoryQuery } from "../../domain/log/QueryHistory.ts"
import type { UsageParameters } from "../../domain/log/Usage.ts"
import { problemsIn } from "../../domain/operations/Status.ts"
import { CurrentRequest } from "../../domain/requests/CurrentRequest.ts"
import { toMoment, toMomentOrNull } from "../../domain/requests/fields.ts"
import { targets } from "../../domain/search/Target.ts"
import { Accounts } from "../../services/accounts/Accounts.ts"
import { Activity } from "../../services/accounts/Activity.ts"
import { Members } from "../../services/accounts/Members.ts"
import { BillingBooks } from "../../services/billing/BillingBooks.ts"
import { QueryLog } from "../../services/charging/QueryLog.ts"
import { Ledger } from "../../services/credits/Ledger.ts"
import { Plans } from "../../services/credits/Plans.ts"
import { DocumentIndex } from "../../services/index/DocumentIndex.ts"
import { KeyStore } from "../../services/keys/KeyStore.ts"
import { Audit, type AuditQuery } from "../../services/operations/Audit.ts"
import { MinuteSeries } from "../../services/operations/MinuteSeries.ts"
import { type OpenSubscription, OperatorFigures } from "../../services/operations/OperatorFigures.ts"
import {
  type MinuteCounts,
  OperatorLog,
  type SearchCharge,
  type UsageGroup
} from "../../services/operations/OperatorLog.ts"
import { Overview } from "../../services/operations/Overview.ts"
import { Replicas } from "../../services/operations/Replicas.ts"
import { SettingsList } from "../../services/operations/SettingsList.ts"
import { storyOf } from "../../services/operations/story.ts"
import { accountJson, allowanceJson } from "../../services/operations/views/accountJson.ts"
import { auditJson } from "../../services/operations/views/auditJson.ts"
import { billedJson } from "../../services/operations/views/billedJson.ts"
import { enginesJson } from "../../services/operations/views/engineJson.ts"
import { entryJson } from "../../services/operations/views/entryJson.ts"
import { queuesJson } from "../../services/operations/views/queuesJson.ts"
import { topJson } from "../../services/operations/views/topJson.ts"
import { ProviderPauses } from "../../services/providers/ProviderPauses.ts"
import { Providers } from "../../services/providers/Providers.ts"
import { StoreClock, storeTime } from "../../services/StoreClock.ts"
import { EventBooks } from "../../services/webhooks/EventBooks.ts"
import { ApiKey } from "../groups/KeysGroup.ts"
import { Member } from "../groups/MembersGroup.ts"
import { toKey } from "../handlers/keys.ts"
import { toMember } from "../handlers/members.ts"
import { toLoggedQuery, usageOf } from "../handlers/usage.ts"
import { setHeaders } from "../requestState.ts"
import { load } from "./load.ts"
import { OperatorApi } from "./OperatorApi.ts"

const defaultListed = 50
const dayMs = 86_400_000
const revenueDays = 30
const maxOrders = 20

const errorsOf = ({ outcomes }: MinuteCounts): Readonly<Partial<Record<Outcome, number>>> => {
  const { ok: _, ...errors } = outcomes
  return Object.fromEntries(Object.entries(errors).filter(([, count]) => count > 0))
}

const drift = Effect.map(
  Effect.flatMap(OperatorFigures, ({ lastVerification }) => lastVerification),
  (last) =>
    last === undefined
      ? null
      : {
          verified_at: toMoment(last.finishedAt),
          seconds: last.seconds,
          accounts: last.accounts,
          problems: last.problems
        }
)

const now = Effect.fnUntraced(function* (since: number | undefined) {
  const status = yield* Effect.flatMap(Overview, ({ look }) => look)
  const problems = problemsIn(status)
  const minutes = yield* Effect.flatMap(MinuteSeries, (series) => series.since(since))
  return {
    ok: problems.length === 0,
    problems,
    status,
    drift: yield* drift,
    series: minutes.map((minute) => ({
      at: toMoment(minute.at),
      requests: minute.searches,
      credits: minute.credits,
      errors: errorsOf(minute),
      p50_ms: minute.p50Ms,
      p95_ms: minute.p95Ms
    }))
  }
})

interface CustomersQuery {
  readonly text?: string | undefined
  readonly plan?: Account["plan"] | undefined
  readonly suspended?: "true" | "false" | undefined
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

const customers = Effect.fnUntraced(function* ({
  after,
  limit = defaultListed,
  plan,
  suspended,
  text
}: CustomersQuery) {
  const query = { text, plan, suspended: suspended === undefined ? undefined : suspended === "true", after, limit }
  const found = yield* Effect.flatMap(Accounts, (accounts) => accounts.list(query))
  return { customers: found.map(accountJson), next: found.length < limit ? null : (found.at(-1)?.id ?? null) }
})

const encodeKey = Schema.encodeSync(ApiKey)
const encodeMember = Schema.encodeSync(Member)

const cycleOf = ({ cycleStart, next }: Account) => ({
  start: toMomentOrNull(cycleStart),
  next:
    next === undefined
      ? null
      : { plan: next.plan, quota: next.quota ?? null, concurrency: next.concurrency, at: toMoment(next.at) }
})

const customer = Effect.fnUntraced(function* (id: string) {
  const account = yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(id))
  const allowance = yield* Effect.flatMap(Ledger, (ledger) => ledger.peek(account))
  const books = yield* BillingBooks
  const billed = yield* books.account(id)
  const queues = queuesJson(yield* Effect.flatMap(EventBooks, (events) => events.queues(id)))
  return {
    account: accountJson(account),
    allowance: allowanceJson(allowance),
    balance: allowance.balance,
    cycle: cycleOf(account),
    limits: {
      quota: account.quota ?? null,
      concurrency: account.concurrency,
      requests_per_minute: requestsPerMinute(account.concurrency),
      pack_cents_per_1000: account.packRate ?? null
    },
    keys: (yield* Effect.flatMap(KeyStore, (keys) => keys.list(id))).map((key) => encodeKey(toKey(key))),
    members: (yield* Effect.flatMap(Members, (members) => members.list(id))).map((member) =>
      encodeMember(toMember(member))
    ),
    webhooks: queues.webhooks,
    webhooks_paused_at: queues.paused_at,
    billing: billed === undefined ? null : billedJson(id, billed, yield* books.orders(id, maxOrders)),
    last_seen: toMomentOrNull(yield* Effect.flatMap(OperatorFigures, (figures) => figures.lastSeen(id)))
  }
})

/** The log as the customer sees it, with the names of the providers. */
const log = Effect.fnUntraced(function* (id: string, parameters: typeof HistoryParameters.Type) {
  yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(id))
  const { entries, next } = yield* Effect.flatMap(QueryLog, (log) => log.history(id, toHistoryQuery(parameters)))
  return { queries: entries.map((entry) => toLoggedQuery(entry, true)), next_cursor: next ?? null }
})

const activity = Effect.fnUntraced(function* (id: string, query: ActivityQuery) {
  yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(id))
  const { entries, next } = yield* Effect.flatMap(Activity, (activity) => activity.page(id, query))
  return { events: entries, next_cursor: next ?? null }
})

const usage = Effect.fnUntraced(function* (id: string, parameters: typeof UsageParameters.Type) {
  const account = yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(id))
  return yield* usageOf(id, yield* Effect.flatMap(Ledger, (ledger) => ledger.peek(account)), parameters)
})

interface TopParameters {
  readonly by?: UsageGroup | undefined
  readonly from?: number | undefined
  readonly to?: number | undefined
  readonly limit?: number | undefined
}

const top = Effect.fnUntraced(function* ({ by = "account", limit = defaultListed, ...range }: TopParameters) {
  const to = range.to ?? (yield* Clock.currentTimeMillis)
  const from = range.from ?? to - dayMs
  if (from >= to) {
    return yield* InvalidRequest.fromIssues([{ field: "from", message: "must be before to, and in the past" }])
  }
  const query = { by, from, to, limit }
  return topJson(query, yield* Effect.flatMap(OperatorLog, (log) => log.top(query)))
})

const engines = Effect.gen(function* () {
  const { labels, order } = yield* Providers
  const replicas = yield* Effect.flatMap(Replicas, ({ all }) => all)
  const pauses = yield* Effect.flatMap(ProviderPauses, ({ all }) => all)
  return {
    targets: targets.map((target) => ({
      target,
      name: labels[target]?.name ?? null,
      providers: order[target] ?? []
    })),
    providers: enginesJson(replicas, pauses)
  }
})

const chargeJson = ({ accountId, at, balanceCredits, cause, id, kind, quotaCredits }: SearchCharge) => ({
  id,
  at: toMoment(at),
  account_id: accountId,
  kind,
  quota_credits: quotaCredits,
  balance_credits: balanceCredits,
  cause
})

const request = Effect.fnUntraced(function* (id: string) {
  const { charges, entries, isCut, kind } = yield* storyOf(id)
  return { kind, entries: entries.map(entryJson), ledger: charges.map(chargeJson), truncated: isCut }
})

const index = Effect.gen(function* () {
  const documents = yield* DocumentIndex
  const counts = yield* documents.counts
  return {
    loading: yield* documents.isLoading,
    counts: counts.map(({ documents, language, target }) => ({
      target: target ?? null,
      language: language ?? null,
      documents
    }))
  }
})

const subscriptionJson = (subscription: OpenSubscription) => ({
  id: subscription.id,
  account_id: subscription.accountId,
  email: subscription.email,
  plan: subscription.plan,
  status: subscription.status,
  current_period_end: toMoment(subscription.periodEnd),
  past_due_since: toMomentOrNull(subscription.pastDueAt)
})

const money = Effect.gen(function* () {
  const figures = yield* OperatorFigures
  const offers = yield* Plans
  const since = (yield* storeTime(yield* StoreClock)) - revenueDays * dayMs
  const orders = yield* figures.revenue(since)
  const { oldestDeliveryMs, owed } = yield* Effect.flatMap(BillingBooks, ({ figures }) => figures)
  return {
    plans: (yield* figures.plans).map(({ accounts, plan, suspended }) => {
      const { name, priceCents } = offers[plan]
      return { plan, name, price_cents: priceCents, accounts, suspended }
    }),
    revenue: {
      since: toMoment(since),
      orders: orders.map(({ kind, netCents, orders, refundedCents }) => ({
        kind,
        orders,
        net_cents: netCents,
        refunded_cents: refundedCents
      }))
    },
    second_subscriptions: (yield* figures.secondSubscriptions).map(subscriptionJson),
    unpaid: (yield* figures.unpaid).map(subscriptionJson),
    /** Deliveries of the provider that wait, and credits of refunded packs that had been spent. */
    oldest_delivery_seconds: Math.round(oldestDeliveryMs / 1000),
    owed_credits: owed,
    drift: yield* drift
  }
})

type AuditParameters = { readonly [Name in keyof AuditQuery]?: AuditQuery[Name] | undefined }

const audit = Effect.fnUntraced(function* ({ limit = defaultListed, ...filter }: AuditParameters) {
  const { before, command, from, operator, subject, to } = filter
  const entries = yield* Effect.flatMap(Audit, (audit) =>
    audit.list({ before, command, from, operator, subject, to, limit })
  )
  return { entries: entries.map(auditJson), next: entries.length < limit ? null : (entries.at(-1)?.id ?? null) }
})

const settings = Effect.map(SettingsList, (settings) => ({ settings }))

export type Now = Effect.Success<ReturnType<typeof now>>
export type Customers = Effect.Success<ReturnType<typeof customers>>
export type Customer = Effect.Success<ReturnType<typeof customer>>
export type TopUsage = Effect.Success<ReturnType<typeof top>>
export type Engines = Effect.Success<typeof engines>
export type OneRequest = Effect.Success<ReturnType<typeof request>>
export type IndexState = Effect.Success<typeof index>
export type Money = Effect.Success<typeof money>
export type AuditEntries = Effect.Success<ReturnType<typeof audit>>
export type SettingsInForce = Effect.Success<typeof settings>

const used = [
  Accounts,
  Activity,
  Audit,
  BillingBooks,
  DocumentIndex,
  EventBooks,
  KeyStore,
  Ledger,
  Members,
  MinuteSeries,
  OperatorFigures,
  OperatorLog,
  Overview,
  Plans,
  ProviderPauses,
  Providers,
  QueryLog,
  Replicas,
  StoreClock
] as const

export type ReadServices = Context.Service.Identifier<(typeof used)[number]>

export const readServices = Context.pick(...used)

const notStored = Effect.map(CurrentRequest, (state) => setHeaders(state, { "cache-control": "no-store" }))

export const layer = HttpApiBuilder.group(
  OperatorApi,
  "reads",
  Effect.fn(function* (handlers) {
    // Requests have no services of their own (`forRequests`).
    const services = yield* Effect.context<ReadServices>()
    const read = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.andThen(notStored, Effect.provideContext(effect, services))
    return handlers.handleAll({
      now: ({ query }) => read(now(query.since)),
      customers: ({ query }) => read(customers(query)),
      customer: ({ params }) => read(customer(params.id)),
      log: ({ params, query }) => read(log(params.id, query)),
      activity: ({ params, query }) => read(activity(params.id, query)),
      usage: ({ params, query }) => read(usage(params.id, query)),
      top: ({ query }) => read(top(query)),
      engines: () => read(engines),
      request: ({ params }) => read(request(params.id)),
      index: () => read(index),
      money: () => read(money),
      audit: ({ query }) => read(audit(query)),
      settings: () => read(settings),
      load: ({ query, request }) => read(load(query, request))
    })
  })
)
