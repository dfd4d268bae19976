import { Context, type Effect } from "effect"
import type { DatabaseStatus, MigrationStatus } from "../domain/Status.ts"

/** The database as the operator looks at it. It is found as it is, migrated or not. */
export class DatabaseInspection extends Context.Service<
  DatabaseInspection,
  {
    /** Never fails: a database that cannot be reached is an answer. Null migrations belong to such a database. */
    readonly look: Effect.Effect<{
      readonly database: DatabaseStatus
      readonly migrations: MigrationStatus | null
    }>
  }
>()("quarry/services/DatabaseInspection") {}
