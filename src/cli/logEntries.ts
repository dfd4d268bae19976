import type { LoggedRefusal } from "../domain/LogEntry.ts"
import type { StoredLogEntry } from "../services/QueryLog.ts"
import { table, time } from "./Output.ts"

/*
 * Entries of the query log as `query show`, `batch show` and `request show` print them.
 */

/** Characters of a query's text in a table. */
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
  geo: entry.request.geo,
  locale: entry.request.locale,
  page: entry.request.page,
  num: entry.request.num,
  safe: entry.request.safe,
  source: entry.request.source,
  outcome: entry.outcome,
  credits: entry.credits,
  cached: entry.cached,
  provider: entry.provider ?? null,
  refusals: entry.refusals,
  result_count: entry.resultCount,
  duration_ms: Math.round(entry.durationMs)
})

const refusalText = ({ ms, provider, reason }: LoggedRefusal): string => `${provider} ${reason} after ${ms} ms`

/** Refusals in one cell; `-` where no provider refused. */
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

const searchText = ({ request: { geo, locale, num, page, safe, target } }: StoredLogEntry): string =>
  `${target}, ${geo}, ${locale}, page ${page} of ${num} results, safe ${safe}`

/** A table of entries. */
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

/** The sum over entries, in the names of the API. */
export const totalsOf = (entries: ReadonlyArray<StoredLogEntry>) => {
  const count = (outcome: StoredLogEntry["outcome"]) => entries.filter((it) => it.outcome === outcome).length
  return {
    searches: entries.length,
    credits: entries.reduce((sum, { credits }) => sum + credits, 0),
    outcomes: {
      ok: count("ok"),
      upstream_error: count("upstream_error"),
      upstream_timeout: count("upstream_timeout")
    }
  }
}

export const totalsLine = ({ credits, outcomes, searches }: ReturnType<typeof totalsOf>): string =>
  `${searches} searches, ${credits} credits: ${outcomes.ok} ok, ${outcomes.upstream_error} upstream_error, ` +
  `${outcomes.upstream_timeout} upstream_timeout`
