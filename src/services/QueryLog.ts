import { Context, type Effect } from "effect"
import type { QueryRecord } from "../domain/QueryRecord.ts"

export interface LoggedQuery extends QueryRecord {
  /** Unix milliseconds on the store's clock. */
  readonly at: number
}

/** The log of searches. Searches that cost credits are written by `Ledger.settle`, in the transaction that charges. */
export class QueryLog extends Context.Service<
  QueryLog,
  {
    /** Writes entries of searches that no account pays for. */
    readonly append: (records: ReadonlyArray<QueryRecord>) => Effect.Effect<void>
    /** The account's latest entries, newest first. */
    readonly recent: (accountId: string, limit: number) => Effect.Effect<ReadonlyArray<LoggedQuery>>
  }
>()("quarry/services/QueryLog") {}
