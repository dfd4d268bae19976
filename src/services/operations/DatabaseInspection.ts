import { Context, type Effect } from "effect"
import type { DatabaseStatus, MigrationStatus } from "../../domain/operations/Status.ts"

/** Works before migrations too. */
export class DatabaseInspection extends Context.Service<
  DatabaseInspection,
  {
    /** Never fails: an unreachable database is a result, with null migrations. */
    readonly look: Effect.Effect<{
      readonly database: DatabaseStatus
      readonly migrations: MigrationStatus | null
    }>
  }
>()("quarry/services/operations/DatabaseInspection") {}
