import { Context, type Effect } from "effect"
import type { LogMonth } from "../../domain/operations/LogMonth.ts"

export interface LogOverview {
  /** Undefined until a server has started on this database. Nothing is dropped before that. */
  readonly retentionMs: number | undefined
  /** Oldest first, including empty months created in advance. */
  readonly months: ReadonlyArray<LogMonth>
  /** Unix milliseconds of the database's clock. */
  readonly now: number
}

/** The retention of the query log, shared by all replicas. Only the server drops months (R74). */
export class LogRetention extends Context.Service<
  LogRetention,
  {
    readonly look: Effect.Effect<LogOverview>
    readonly set: (retentionMs: number) => Effect.Effect<void>
  }
>()("quarry/services/operations/LogRetention") {}
