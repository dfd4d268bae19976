import { Clock, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { remaining } from "../../domain/Account.ts"
import { encodeCursor, parseHistory, parseRecent } from "../../domain/QueryHistory.ts"
import { parseUsage, total } from "../../domain/Usage.ts"
import { Ledger } from "../../services/Ledger.ts"
import { QueryLog, type StoredLogEntry } from "../../services/QueryLog.ts"
import { Api } from "../Api.ts"
import { currentAccount } from "../Middleware.ts"
import { toMoment, toMomentOrNull } from "../wire.ts"

const hourMs = 3_600_000

/** The trial has no period; its usage is shown over the last 30 days. */
const trialWindowMs = 30 * 24 * hourMs

export const layer = HttpApiBuilder.group(
  Api,
  "usage",
  Effect.fn(function* (handlers) {
    const ledger = yield* Ledger
    const queryLog = yield* QueryLog

    return handlers
      .handle(
        "usage",
        Effect.fnUntraced(function* ({ query }) {
          const account = yield* currentAccount
          const allowance = yield* ledger.allowance(account)
          const now = yield* Clock.currentTimeMillis
          // The whole of the running hour: entries carry the store's time, which may be a little ahead of ours.
          const to = (Math.floor(now / hourMs) + 1) * hourMs
          const from = allowance.periodStart ?? to - trialWindowMs
          const asked = yield* Effect.fromResult(parseUsage(query, { from, to }))
          const series = yield* queryLog.usage(account.id, asked)
          return {
            plan: allowance.plan,
            period: { start: toMomentOrNull(allowance.periodStart), end: toMomentOrNull(allowance.resetsAt) },
            quota: allowance.quota ?? null,
            used: allowance.used,
            remaining: allowance.quota === undefined ? null : remaining(allowance),
            balance: allowance.balance,
            resets_at: toMomentOrNull(allowance.resetsAt),
            from: toMoment(asked.from),
            to: toMoment(asked.to),
            granularity: asked.granularity,
            group_by: asked.groupBy ?? null,
            totals: total(series),
            series: series.map(({ group, start, ...counts }) => ({
              start: toMoment(start),
              group: group ?? null,
              ...counts
            }))
          }
        })
      )
      .handle(
        "recent",
        Effect.fnUntraced(function* ({ query }) {
          const limit = yield* Effect.fromResult(parseRecent(query))
          const entries = yield* queryLog.recent((yield* currentAccount).id, limit)
          return { queries: entries.map(toLoggedQuery) }
        })
      )
      .handle(
        "history",
        Effect.fnUntraced(function* ({ query }) {
          const asked = yield* Effect.fromResult(parseHistory(query))
          const { entries, next } = yield* queryLog.history((yield* currentAccount).id, asked)
          return {
            queries: entries.map(toLoggedQuery),
            next_cursor: next === undefined ? null : encodeCursor(next)
          }
        })
      )
  })
)

/** An entry on the wire. Which provider answered is the operator's business. */
export const toLoggedQuery = (entry: StoredLogEntry) => ({
  id: entry.id,
  created_at: toMoment(entry.at),
  batch_id: entry.batchId ?? null,
  key_id: entry.keyId ?? null,
  target: entry.request.target,
  query: entry.request.query,
  geo: entry.request.geo,
  locale: entry.request.locale,
  page: entry.request.page,
  num: entry.request.num,
  safe: entry.request.safe,
  source: entry.request.source,
  status: entry.outcome,
  credits: entry.credits,
  cached: entry.cached,
  result_count: entry.resultCount,
  duration_ms: Math.round(entry.durationMs)
})
