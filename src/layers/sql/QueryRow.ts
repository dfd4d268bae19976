import type { QueryRecord } from "../../domain/QueryRecord.ts"

/** A log entry by column. */
export const toColumns = (record: QueryRecord) => ({
  id: record.id,
  account_id: record.accountId,
  key_id: record.keyId,
  batch_id: record.batchId,
  target: record.request.target,
  query: record.request.query,
  geo: record.request.geo,
  locale: record.request.locale,
  page: record.request.page,
  num: record.request.num,
  safe: record.request.safe,
  source: record.request.source,
  outcome: record.outcome,
  credits: record.credits,
  cached: record.cached,
  provider: record.provider,
  result_count: record.resultCount,
  duration_ms: Math.round(record.durationMs)
})
