import type { LoggedPage, LoggedRefusal } from "../../domain/log/LogEntry.ts"
import type { StoredLogEntry } from "../../services/charging/QueryLog.ts"
import { table, time } from "../Output.ts"

/** Queries are cut to this many characters in tables. */
const maxShownText = 60

export const entryJson = (entry: StoredLogEntry) => ({
  id: entry.id,
  at: time(entry.at),
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

const refusalText = ({ ms, provider, reason }: LoggedRefusal): string => `${provider} ${reason} after ${ms} ms`

const refusalsText = (refusals: ReadonlyArray<LoggedRefusal>): string =>
  refusals.length === 0 ? "-" : refusals.map(refusalText).join(", ")

const providerText = ({ cached, provider }: StoredLogEntry): string => (cached ? "cache" : (provider ?? "-"))

export const entryLines = (entry: StoredLogEntry): ReadonlyArray<string> =>
  table([
    ["Query", entry.id],
    ["At", time(entry.at) ?? ""],
    ["Account", entry.accountId ?? "none (demo)"],
    ["Key", entry.keyId ?? "none"],
    ["Request", entry.requestId ?? "not logged"],
    ["Batch", entry.batchId === undefined ? "none" : `${entry.batchId}, row ${entry.rowIndex ?? "not logged"}`],
    ["Text", entry.request.query],
    ["Search", searchText(entry)],
    ["Source", entry.request.source],
    ["Outcome", `${entry.outcome}, ${entry.resultCount} results in ${Math.round(entry.durationMs)} ms`],
    ["Credits", `${entry.credits}`],
    ["Answered by", providerText(entry)],
    ["Refusals", refusalsText(entry.refusals)]
  ])

const pageText = ({ bytes, host, reason }: LoggedPage): string =>
  `page of ${host}, ${bytes} bytes${reason === undefined ? "" : `, ${reason}`}`

const searchText = ({ page: read, request: { geo, locale, num, page, safe, target } }: StoredLogEntry): string =>
  read !== undefined ? pageText(read) : `${target}, ${geo}, ${locale}, page ${page} of ${num} results, safe ${safe}`

export const entriesLines = (entries: ReadonlyArray<StoredLogEntry>): ReadonlyArray<string> =>
  table([
    ["ROW", "QUERY", "AT", "TARGET", "OUTCOME", "CREDITS", "RESULTS", "MS", "ANSWERED BY", "REFUSALS", "TEXT"],
    ...entries.map((entry) => [
      `${entry.rowIndex ?? "-"}`,
      entry.id,
      time(entry.at) ?? "",
      entry.request.target,
      entry.outcome,
      `${entry.credits}`,
      `${entry.resultCount}`,
      `${Math.round(entry.durationMs)}`,
      providerText(entry),
      refusalsText(entry.refusals),
      Array.from(entry.request.query).slice(0, maxShownText).join("")
    ])
  ])

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

export const totalsLine = ({ credits, outcomes, searches }: ReturnType<typeof totalsOf>): string =>
  `${searches} searches, ${credits} credits: ${outcomes.ok} ok, ${outcomes.upstream_error} upstream_error, ` +
  `${outcomes.upstream_timeout} upstream_timeout, ${outcomes.page_unreadable} page_unreadable`
