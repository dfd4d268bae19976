import { Effect } from "effect"
import { type SqlClient, SqlError } from "effect/sql"
import { retryTransient } from "./Transient.ts"

/** A failure of the database is a defect, because no caller can handle it. Other errors stay. */
export const dieOnSqlError = <A, E, R>(effect: Effect.Effect<A, E | SqlError.SqlError, R>) =>
  Effect.catchIf(effect, SqlError.isSqlError, Effect.die)

export const inTransaction =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    dieOnSqlError(sql.withTransaction(effect))

/** Retries the statement, which must be idempotent, and converts its rows. */
export const read = <A, B, R>(statement: Effect.Effect<A, SqlError.SqlError, R>, convert: (found: A) => B) =>
  Effect.orDie(Effect.map(retryTransient(statement), convert))
