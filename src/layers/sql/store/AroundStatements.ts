import type { Effect } from "effect"
import { SqlConnection, type SqlError } from "effect/sql"

export type Around = <A, R>(statement: Effect.Effect<A, SqlError.SqlError, R>) => Effect.Effect<A, SqlError.SqlError, R>

/** Streams are not wrapped, because Quarry does not use them. */
export const aroundStatements = (connection: SqlConnection.Connection, around: Around): SqlConnection.Connection =>
  SqlConnection.Connection.of({
    execute: (...args) => around(connection.execute(...args)),
    executeRaw: (...args) => around(connection.executeRaw(...args)),
    executeStream: (...args) => connection.executeStream(...args),
    executeValues: (...args) => around(connection.executeValues(...args)),
    executeValuesUnprepared: (...args) => around(connection.executeValuesUnprepared(...args)),
    executeUnprepared: (...args) => around(connection.executeUnprepared(...args))
  })
