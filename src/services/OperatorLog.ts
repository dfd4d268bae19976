import { Context, type Effect } from "effect"
import type { NotFound } from "../domain/errors.ts"
import type { Counts } from "../domain/Usage.ts"
import type { StoredLogEntry } from "./QueryLog.ts"

/** The most entries that one look shows. A batch has fewer; a client may give many requests the same id. */
export const maxEntries = 200

/** The groups by which the usage of a span of time is counted. */
export const usageGroups = ["account", "key", "target", "provider", "source"] as const
export type UsageGroup = (typeof usageGroups)[number]

export interface TopQuery {
  readonly by: UsageGroup
  /** Unix milliseconds. */
  readonly from: number
  /** Unix milliseconds, its first moment outside. */
  readonly to: number
  readonly limit: number
}

export interface TopUsage extends Counts {
  /** The account's or key's id, or the name of the target, provider or source; undefined where there is none. */
  readonly group: string | undefined
  /** The account's address, where the group is an account that has one. */
  readonly email: string | undefined
  readonly cached: number
}

/**
 * The query log over all accounts, for the operator. Clients read their own entries through `QueryLog`. A request that
 * failed before its search ended is in no log (I5).
 */
export class OperatorLog extends Context.Service<
  OperatorLog,
  {
    readonly query: (id: string) => Effect.Effect<StoredLogEntry, NotFound>
    /** The rows of a batch, in their order. */
    readonly batch: (id: string) => Effect.Effect<ReadonlyArray<StoredLogEntry>, NotFound>
    /** The entries of all requests with this X-Request-Id, a UUID in any letter case: the oldest first. */
    readonly request: (requestId: string) => Effect.Effect<ReadonlyArray<StoredLogEntry>, NotFound>
    /** The groups with most searches, most first. It reads the whole span of time, which may take minutes. */
    readonly top: (query: TopQuery) => Effect.Effect<ReadonlyArray<TopUsage>>
  }
>()("quarry/services/OperatorLog") {}
