import { Context, type Effect } from "effect"
import type { NotFound } from "../../domain/errors.ts"
import type { Counts } from "../../domain/log/Usage.ts"
import type { StoredLogEntry } from "../charging/QueryLog.ts"

/** Limits a request look-up, because a client may send the same ID many times. */
export const maxEntries = 200

export const usageGroups = ["account", "key", "target", "provider", "source"] as const
export type UsageGroup = (typeof usageGroups)[number]

export interface TopQuery {
  readonly by: UsageGroup
  readonly from: number
  /** Unix milliseconds, exclusive. */
  readonly to: number
  readonly limit: number
}

export interface TopUsage extends Counts {
  /** Account ID, key ID, or name; undefined if there is none. */
  readonly group: string | undefined
  /** The email address, if the group is an account that has one. */
  readonly email: string | undefined
  readonly cached: number
}

/** The searches and pages of one minute. */
export interface MinuteCounts extends Counts {
  /** Start of the minute in Unix milliseconds of the database's clock. */
  readonly at: number
  readonly p50Ms: number
  readonly p95Ms: number
}

/** An entry of the ledger about searches. */
export interface SearchCharge {
  readonly id: number
  readonly at: number
  readonly accountId: string
  readonly kind: string
  readonly quotaCredits: number
  readonly balanceCredits: number
  /** The hold, or the search of a streamed batch, that was charged. */
  readonly cause: string
}

/** The query log of all accounts, for the operator. Requests that failed before their search ended are not logged. */
export class OperatorLog extends Context.Service<
  OperatorLog,
  {
    readonly query: (id: string) => Effect.Effect<StoredLogEntry, NotFound>
    readonly batch: (id: string) => Effect.Effect<ReadonlyArray<StoredLogEntry>, NotFound>
    /** All entries with this X-Request-Id, in any letter case, oldest first. */
    readonly request: (requestId: string) => Effect.Effect<ReadonlyArray<StoredLogEntry>, NotFound>
    /** The charges of these entries, oldest first. Free entries have none. */
    readonly charges: (entries: ReadonlyArray<StoredLogEntry>) => Effect.Effect<ReadonlyArray<SearchCharge>>
    /** By time, without minutes that had no search. Reads each entry of the time range. */
    readonly minutes: (from: number, to: number) => Effect.Effect<ReadonlyArray<MinuteCounts>>
    /** The groups with the most searches. It reads the whole time range, which may take minutes. */
    readonly top: (query: TopQuery) => Effect.Effect<ReadonlyArray<TopUsage>>
  }
>()("quarry/services/operations/OperatorLog") {}
