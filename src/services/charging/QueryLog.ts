import { Context, type Effect } from "effect"
import type { InvalidRequest } from "../../domain/errors.ts"
import type { LogEntry } from "../../domain/log/LogEntry.ts"
import type { HistoryQuery, Position } from "../../domain/log/QueryHistory.ts"
import type { UsageBucket, UsageQuery } from "../../domain/log/Usage.ts"

export interface StoredLogEntry extends LogEntry {
  readonly at: number
}

export interface HistoryPage {
  readonly entries: ReadonlyArray<StoredLogEntry>
  readonly next: Position | undefined
}

/** The query log. Searches that cost credits are written by `Ledger.settle`, in the transaction that charges them. */
export class QueryLog extends Context.Service<
  QueryLog,
  {
    /** Only for entries that no account pays for. */
    readonly append: (entries: ReadonlyArray<LogEntry>) => Effect.Effect<void>
    readonly recent: (accountId: string, limit: number) => Effect.Effect<ReadonlyArray<StoredLogEntry>>
    /**
     * A page of entries, newest first. New entries do not change later pages. Each page scans a limited number of
     * entries, so with a rare filter it may be short or empty without being the last.
     */
    readonly history: (accountId: string, query: HistoryQuery) => Effect.Effect<HistoryPage>
    /** Sorted by time and group, without empty buckets. Fails if there are more than `maxRows`. */
    readonly usage: (accountId: string, query: UsageQuery) => Effect.Effect<ReadonlyArray<UsageBucket>, InvalidRequest>
    /** Removes query texts. The entries stay, because the ledger is verified against them. */
    readonly erase: (accountId: string) => Effect.Effect<void>
  }
>()("quarry/services/charging/QueryLog") {}
