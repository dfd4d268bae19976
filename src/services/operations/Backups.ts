import { Context, type Effect, type Stream } from "effect"
import { OperatorError } from "../../domain/OperatorError.ts"

export class BackupFailed extends OperatorError("BackupFailed") {}

export interface BackupReport {
  readonly takenAt: string
  readonly tables: number
  readonly rows: number
}

/** Backups of the whole database that both Postgres and PGlite can restore. */
export class Backups extends Context.Service<
  Backups,
  {
    /** A consistent gzipped snapshot. A stream that ends without calling `onEnd` is not a valid backup. */
    readonly take: (onEnd: (report: BackupReport) => Effect.Effect<unknown>) => Stream.Stream<Uint8Array, BackupFailed>
    /** Verifies all counts and checksums of a backup. Needs no database. */
    readonly check: <E, R>(bytes: Stream.Stream<Uint8Array, E, R>) => Effect.Effect<BackupReport, BackupFailed | E, R>
    /**
     * Restores tables, sequences and later migrations in one transaction. Commits only if all counts and checksums
     * match and the ledger is consistent. Fails if the database contains data; with `overwrite`, its tables are dropped
     * first.
     */
    readonly restore: <E, R>(
      bytes: Stream.Stream<Uint8Array, E, R>,
      options: { readonly overwrite: boolean }
    ) => Effect.Effect<BackupReport, BackupFailed | E, R>
  }
>()("quarry/services/operations/Backups") {}
