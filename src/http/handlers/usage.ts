import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { type Allowance, remaining } from "../../domain/credits/Allowance.ts"
import { toPublicReason } from "../../domain/log/LogEntry.ts"
import { defaultEntries, toHistoryQuery } from "../../domain/log/QueryHistory.ts"
import { defaultStretch, fillBuckets, total, toUsageQuery, type UsageParameters } from "../../domain/log/Usage.ts"
import { toFields } from "../../domain/options/SearchOptions.ts"
import { pageTarget } from "../../domain/search/Target.ts"
import { QueryLog, type StoredLogEntry } from "../../services/charging/QueryLog.ts"
import { Ledger } from "../../services/credits/Ledger.ts"
import { Plans } from "../../services/credits/Plans.ts"
import { StoreClock, storeTime } from "../../services/StoreClock.ts"
import { Api } from "../Api.ts"
import { currentAccount } from "../Gates.ts"
import { publicName, SendsServerTiming } from "../responses/serverTiming.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "usage",
  Effect.fn(function* (handlers) {
    const ledger = yield* Ledger
    const queryLog = yield* QueryLog
    const services = yield* Effect.context<Plans | QueryLog | StoreClock>()
    const namesProviders = yield* SendsServerTiming
    const toQuery = (entry: StoredLogEntry) => toLoggedQuery(entry, namesProviders)

    return handlers.handleAll({
      usage: Effect.fnUntraced(function* ({ query }) {
        const allowance = yield* ledger.allowance(yield* currentAccount)
        return yield* Effect.provideContext(usageOf((yield* currentAccount).id, allowance, query), services)
      }),
      recent: Effect.fnUntraced(function* ({ query }) {
        const { limit = defaultEntries } = query
        const entries = yield* queryLog.recent((yield* currentAccount).id, limit)
        return { queries: entries.map(toQuery) }
      }),
      history: Effect.fnUntraced(function* ({ query }) {
        const { entries, next } = yield* queryLog.history((yield* currentAccount).id, toHistoryQuery(query))
        return { queries: entries.map(toQuery), next_cursor: next ?? null }
      })
    })
  })
)

/** Usage as `Usage` encodes it. */
export const usageOf = Effect.fnUntraced(function* (
  accountId: string,
  allowance: Allowance,
  parameters: typeof UsageParameters.Type
) {
  const plans = yield* Plans
  const stretch = defaultStretch(allowance.periodStart, yield* storeTime(yield* StoreClock))
  const counted = yield* Effect.fromResult(toUsageQuery(parameters, stretch))
  const series = yield* Effect.flatMap(QueryLog, (log) => log.usage(accountId, counted))
  return {
    plan: allowance.plan,
    plan_name: plans[allowance.plan].name,
    period: { start: allowance.periodStart ?? null, end: allowance.resetsAt ?? null },
    quota: allowance.quota ?? null,
    used: allowance.used,
    remaining: allowance.quota === undefined ? null : remaining(allowance),
    balance: allowance.balance,
    resets_at: allowance.resetsAt ?? null,
    from: counted.from,
    to: counted.to,
    granularity: counted.granularity,
    group_by: counted.groupBy ?? null,
    totals: total(series),
    series: fillBuckets(counted, series).map(({ group, ...bucket }) => ({ ...bucket, group: group ?? null }))
  }
})

/** Customers see the provider names that `Server-Timing` may show them. */
export const toLoggedQuery = (entry: StoredLogEntry, namesProviders: boolean) => {
  const nameOf = (provider: string | undefined) => (namesProviders ? (publicName(provider) ?? null) : null)
  return {
    id: entry.id,
    created_at: entry.at,
    batch_id: entry.batchId ?? null,
    key_id: entry.keyId ?? null,
    kind: entry.request.target === pageTarget ? ("page" as const) : ("search" as const),
    target: entry.request.target,
    query: entry.request.query,
    geo: entry.request.geo ?? null,
    locale: entry.request.locale ?? null,
    page: entry.request.page ?? null,
    num: entry.request.num ?? null,
    safe: entry.request.safe ?? null,
    options: entry.request.options === undefined ? null : toFields(entry.request.options),
    source: entry.request.source,
    status: entry.outcome,
    credits: entry.credits,
    cached: entry.cached,
    result_count: entry.resultCount,
    duration_ms: Math.round(entry.durationMs),
    provider: entry.cached ? null : nameOf(entry.provider),
    attempts: entry.refusals.map(({ provider, reason, ...attempt }) => ({
      provider: nameOf(provider),
      reason: toPublicReason(reason),
      ...attempt
    })),
    request_id: entry.requestId ?? null,
    row: entry.rowIndex ?? null,
    host: entry.page?.host ?? null,
    reason: entry.page?.reason ?? null,
    bytes: entry.page?.bytes ?? null
  }
}
