import { toMoment } from "../../../domain/requests/fields.ts"
import type { StoredLogEntry } from "../../charging/QueryLog.ts"

export const entryJson = (entry: StoredLogEntry) => ({
  id: entry.id,
  at: toMoment(entry.at),
  account_id: entry.accountId ?? null,
  key_id: entry.keyId ?? null,
  request_id: entry.requestId ?? null,
  batch_id: entry.batchId ?? null,
  row: entry.rowIndex ?? null,
  query: entry.request.query,
  target: entry.request.target,
  geo: entry.request.geo ?? null,
  locale: entry.request.locale ?? null,
  page: entry.request.page ?? null,
  num: entry.request.num ?? null,
  safe: entry.request.safe ?? null,
  source: entry.request.source,
  outcome: entry.outcome,
  credits: entry.credits,
  cached: entry.cached,
  provider: entry.provider ?? null,
  refusals: entry.refusals,
  result_count: entry.resultCount,
  duration_ms: Math.round(entry.durationMs),
  host: entry.page?.host ?? null,
  reason: entry.page?.reason ?? null,
  bytes: entry.page?.bytes ?? null
})

export const totalsOf = (entries: ReadonlyArray<StoredLogEntry>) => {
  const count = (outcome: StoredLogEntry["outcome"]) => entries.filter((entry) => entry.outcome === outcome).length
  return {
    searches: entries.length,
    credits: entries.reduce((sum, { credits }) => sum + credits, 0),
    outcomes: {
      ok: count("ok"),
      upstream_error: count("upstream_error"),
      upstream_timeout: count("upstream_timeout"),
      page_unreadable: count("page_unreadable")
    }
  }
}
