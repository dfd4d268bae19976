import { Context, type Effect } from "effect"
import type { LogMonth } from "../domain/LogMonth.ts"

/** The query log as its retention sees it. */
export interface LogOverview {
  /** Undefined until a server has started on this database: nothing is dropped before that. */
  readonly retentionMs: number | undefined
  /** Oldest first, with the empty months that are made ahead. */
  readonly months: ReadonlyArray<LogMonth>
  /** Unix milliseconds on the store's clock. */
  readonly now: number
}

/** The retention of the query log, which the store holds for all replicas. Only the server drops months (R74). */
export class LogRetention extends Context.Service<
  LogRetention,
  {
    readonly look: Effect.Effect<LogOverview>
    /** Stores a retention in milliseconds, longer or shorter than the one before. */
    readonly set: (retentionMs: number) => Effect.Effect<void>
  }
>()("quarry/services/LogRetention") {}
