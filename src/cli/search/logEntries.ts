import type { LoggedPage, LoggedRefusal } from "../../domain/log/LogEntry.ts"
import type { StoredLogEntry } from "../../services/charging/QueryLog.ts"
import type { totalsOf } from "../../services/operations/views/entryJson.ts"
import { table, time } from "../Output.ts"

/** Queries are cut to this many characters in tables. */
const maxShownText = 60

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

export const totalsLine = ({ credits, outcomes, searches }: ReturnType<typeof totalsOf>): string =>
  `${searches} searches, ${credits} credits: ${outcomes.ok} ok, ${outcomes.upstream_error} upstream_error, ` +
  `${outcomes.upstream_timeout} upstream_timeout, ${outcomes.page_unreadable} page_unreadable`
