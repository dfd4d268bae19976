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
  /** The cursor of the next page; undefined on the last one. */
  readonly next: Position | undefined
}

/** The log of searches. `Ledger.settle` writes the searches that cost credits, in the transaction that charges them. */
export class QueryLog extends Context.Service<
  QueryLog,
  {
    /** Writes entries of searches that no account pays for. */
    readonly append: (entries: ReadonlyArray<LogEntry>) => Effect.Effect<void>
    /** The account's latest entries, newest first. */
    readonly recent: (accountId: string, limit: number) => Effect.Effect<ReadonlyArray<StoredLogEntry>>
    /**
     * A page of the account's entries, newest first. Entries that are logged meanwhile do not change it. Each page scans
     * a limited number of entries, so that a page with a rare filter may be short or empty and not be the last.
     */
    readonly history: (accountId: string, query: HistoryQuery) => Effect.Effect<HistoryPage>
    /**
     * Counts of the account's entries by time and group, in this order. Hours, days and months without an entry are left
     * out. Fails where there would be more than `maxRows`.
     */
    readonly usage: (accountId: string, query: UsageQuery) => Effect.Effect<ReadonlyArray<UsageBucket>, InvalidRequest>
    /** Removes the query texts of the account. The entries stay, because the ledger is checked against them. */
    readonly erase: (accountId: string) => Effect.Effect<void>
  }
>()("quarry/services/QueryLog") {}
