import { Context, type Effect } from "effect"

/** An operator's command that changed something or gave something out. It has no secrets and no personal data. */
export interface AuditRecord {
  /** The name of who ran the command. The database does not check it: whoever can run commands can choose it. */
  readonly operator: string
  /** As it is typed: `account suspend`. */
  readonly command: string
  /** The id of the account or key that the command is about; undefined where it is about none. */
  readonly subject: string | undefined
  readonly arguments: Readonly<Record<string, string | number | boolean | null>>
}

export interface AuditEntry extends AuditRecord {
  readonly id: number
  /** Unix milliseconds on the store's clock. */
  readonly at: number
}

/** Undefined filters match every entry. */
export interface AuditQuery {
  readonly operator: string | undefined
  readonly command: string | undefined
  readonly subject: string | undefined
  /** Unix milliseconds. */
  readonly from: number | undefined
  /** Unix milliseconds, its first moment outside. */
  readonly to: number | undefined
  /** The id of the last entry of the page before. */
  readonly before: number | undefined
  readonly limit: number
}

/** The record of the operators' commands. It is append-only, for the owner of the database too. */
export class Audit extends Context.Service<
  Audit,
  {
    /**
     * Makes a change and writes its entry in one transaction, so that neither is there without the other. The change must
     * be one of the store's own statements: work in other fibers does not join the transaction.
     */
    readonly recorded: <A, E, R>(
      change: Effect.Effect<A, E, R>,
      recordOf: (result: A) => AuditRecord
    ) => Effect.Effect<A, E, R>
    /** Writes an entry by itself, before a command that cannot run in one transaction. */
    readonly append: (record: AuditRecord) => Effect.Effect<void>
    /** Entries, newest first. */
    readonly list: (query: AuditQuery) => Effect.Effect<ReadonlyArray<AuditEntry>>
  }
>()("quarry/services/Audit") {}
