import { Context, type Effect } from "effect"
import type { InvalidRequest } from "../domain/errors.ts"
import type { LogEntry } from "../domain/LogEntry.ts"
import type { HistoryQuery, Position } from "../domain/QueryHistory.ts"
import type { UsageBucket, UsageQuery } from "../domain/Usage.ts"

export interface StoredLogEntry extends LogEntry {
  /** Unix milliseconds on the store's clock. */
  readonly at: number
}

export interface HistoryPage {
  /** Newest first. */
  readonly entries: ReadonlyArray<StoredLogEntry>
  /** Where the next page begins; undefined when there is none. */
  readonly next: Position | undefined
}

/** The log of searches. Searches that cost credits are written by `Ledger.settle`, in the transaction that charges. */
export class QueryLog extends Context.Service<
  QueryLog,
  {
    /** Writes entries of searches that no account pays for. */
    readonly append: (entries: ReadonlyArray<LogEntry>) => Effect.Effect<void>
    /** The account's latest entries, newest first. */
    readonly recent: (accountId: string, limit: number) => Effect.Effect<ReadonlyArray<StoredLogEntry>>
    /**
     * A page of the account's entries, newest first, that stays the same whatever is logged meanwhile. With a filter
     * that few entries pass, a page may be short, or empty, and not be the last: as many entries are looked at for each
     * as a request has time for.
     */
    readonly history: (accountId: string, query: HistoryQuery) => Effect.Effect<HistoryPage>
    /**
     * The account's entries counted by time and group, in their order; hours, days and months without an entry are left
     * out. Fails when there would be more than `maxRows`.
     */
    readonly usage: (accountId: string, query: UsageQuery) => Effect.Effect<ReadonlyArray<UsageBucket>, InvalidRequest>
    /** Removes what the account searched for; the entries themselves stay for the books. */
    readonly erase: (accountId: string) => Effect.Effect<void>
  }
>()("quarry/services/QueryLog") {}
