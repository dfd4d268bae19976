import { Context, type Effect } from "effect"

/** A command of an operator that changed or revealed something. Contains no secrets or personal data. */
export interface AuditRecord {
  /** Not verified: anyone who can run commands can choose the name. */
  readonly operator: string
  /** As typed: `account suspend`. */
  readonly command: string
  /** The ID of the affected account or key, if any. */
  readonly subject: string | undefined
  readonly arguments: Readonly<Record<string, string | number | boolean | null>>
}

export interface AuditEntry extends AuditRecord {
  readonly id: number
  /** Unix milliseconds of the database's clock. */
  readonly at: number
}

/** Undefined filters match every entry. */
export interface AuditQuery {
  readonly operator: string | undefined
  readonly command: string | undefined
  readonly subject: string | undefined
  /** Unix milliseconds, inclusive. */
  readonly from: number | undefined
  /** Unix milliseconds, exclusive. */
  readonly to: number | undefined
  /** The ID of the previous page's last entry. */
  readonly before: number | undefined
  readonly limit: number
}

/** The append-only audit log of operators' commands. Not even the owner of the database can change it. */
export class Audit extends Context.Service<
  Audit,
  {
    /**
     * Makes a change and writes its entry in one transaction. The change must consist of the database's own statements,
     * because work in other fibers does not join the transaction.
     */
    readonly recorded: <A, E, R>(
      change: Effect.Effect<A, E, R>,
      recordOf: (result: A) => AuditRecord
    ) => Effect.Effect<A, E, R>
    /** Writes an entry before a command that cannot run in one transaction. */
    readonly append: (record: AuditRecord) => Effect.Effect<void>
    readonly list: (query: AuditQuery) => Effect.Effect<ReadonlyArray<AuditEntry>>
  }
>()("quarry/services/operations/Audit") {}
