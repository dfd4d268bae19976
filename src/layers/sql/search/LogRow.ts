import { Schema } from "effect"
import { type LogEntry, LoggedRefusal, Outcome, outcomes } from "../../../domain/log/LogEntry.ts"
import { LoggedOptions, toFields, toOptions } from "../../../domain/options/SearchOptions.ts"
import { AnyTarget, Safe } from "../../../domain/search/Target.ts"
import { UnreadableReason } from "../../../domain/UnreadableReason.ts"
import type { StoredLogEntry } from "../../../services/charging/QueryLog.ts"
import { columnsOf } from "../Rows.ts"

/** A test compares the columns with `queries_add`. */
export const LogRow = Schema.Struct({
  id: Schema.String,
  account_id: Schema.NullOr(Schema.String),
  key_id: Schema.NullOr(Schema.String),
  batch_id: Schema.NullOr(Schema.String),
  target: AnyTarget,
  query: Schema.String,
  geo: Schema.NullOr(Schema.String),
  locale: Schema.NullOr(Schema.String),
  page: Schema.NullOr(Schema.Int),
  num: Schema.NullOr(Schema.Int),
  safe: Schema.NullOr(Safe),
  source: Schema.String,
  outcome: Outcome,
  credits: Schema.Int,
  cached: Schema.Boolean,
  provider: Schema.NullOr(Schema.String),
  result_count: Schema.Int,
  duration_ms: Schema.BigInt,
  request_id: Schema.NullOr(Schema.String),
  row_index: Schema.NullOr(Schema.Int),
  refusals: Schema.NullOr(Schema.Array(LoggedRefusal)),
  host: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(UnreadableReason),
  bytes: Schema.NullOr(Schema.BigInt),
  options: Schema.NullOr(LoggedOptions),
  person_id: Schema.NullOr(Schema.String)
})

/** The columns with the counts of each outcome, and how a statement counts them in the log. */
export const outcomeColumns = outcomes.join(", ")
export const outcomeCounts = outcomes
  .map((outcome) => `count(*) filter (where outcome = '${outcome}') as ${outcome}`)
  .join(", ")

export const toOutcomes = (row: { readonly [O in Outcome]: bigint | number }) => ({
  ok: Number(row.ok),
  upstream_error: Number(row.upstream_error),
  upstream_timeout: Number(row.upstream_timeout),
  page_unreadable: Number(row.page_unreadable)
})

export const LoggedRow = Schema.Struct({ ...LogRow.fields, created_at: Schema.Date })

export const loggedColumns = columnsOf(LoggedRow)

export const toColumns = (record: LogEntry) =>
  ({
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
    duration_ms: Math.round(record.durationMs),
    request_id: record.requestId,
    row_index: record.rowIndex,
    refusals: record.refusals.length === 0 ? undefined : record.refusals,
    host: record.page?.host,
    reason: record.page?.reason,
    bytes: record.page?.bytes,
    options: record.request.options === undefined ? undefined : toFields(record.request.options),
    person_id: record.personId
  }) satisfies { readonly [Column in keyof typeof LogRow.Type]: unknown }

export const toLogged = (row: typeof LoggedRow.Type): StoredLogEntry => {
  const options = row.options === null ? undefined : toOptions(row.options)
  return {
    id: row.id,
    accountId: row.account_id ?? undefined,
    keyId: row.key_id ?? undefined,
    ...(row.person_id === null ? {} : { personId: row.person_id }),
    batchId: row.batch_id ?? undefined,
    request: {
      target: row.target,
      query: row.query,
      ...(row.geo === null ? {} : { geo: row.geo }),
      ...(row.locale === null ? {} : { locale: row.locale }),
      ...(row.page === null ? {} : { page: row.page }),
      ...(row.num === null ? {} : { num: row.num }),
      ...(row.safe === null ? {} : { safe: row.safe }),
      source: row.source,
      ...(options === undefined ? {} : { options })
    },
    outcome: row.outcome,
    credits: row.credits,
    cached: row.cached,
    provider: row.provider ?? undefined,
    resultCount: row.result_count,
    durationMs: Number(row.duration_ms),
    requestId: row.request_id ?? undefined,
    rowIndex: row.row_index ?? undefined,
    refusals: row.refusals ?? [],
    ...(row.host === null
      ? {}
      : { page: { host: row.host, reason: row.reason ?? undefined, bytes: Number(row.bytes ?? 0) } }),
    at: row.created_at.getTime()
  }
}
