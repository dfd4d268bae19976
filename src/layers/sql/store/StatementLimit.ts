import { Context, Data, Duration, Effect, type Scope } from "effect"
import { type SqlClient, type SqlConnection, SqlError } from "effect/sql"
import { DatabaseLane } from "../../../services/DatabaseLane.ts"
import { Deadlines } from "../../../services/waiting/Deadlines.ts"
import { type Around, aroundStatements } from "./AroundStatements.ts"

/** The database may or may not have run the statement. */
export class Unanswered extends Data.TaggedError("Unanswered")<{ readonly message: string }> {}

const Unlimited = Context.Reference("quarry/references/Unlimited", { defaultValue: () => false })

/** Fails only after the interrupted work has ended, so that its connection is not reused too early. */
const within = (deadlines: Deadlines, limit: Duration.Duration, failure: string): Around => {
  const limitMs = Duration.toMillis(limit)
  const giveUp = (ended: Effect.Effect<void>) => {
    const cause = new Unanswered({ message: `${failure} within the limit` })
    const reason = new SqlError.ConnectionError({ cause, message: cause.message, operation: "wait" })
    return Effect.andThen(ended, Effect.fail(new SqlError.SqlError({ reason })))
  }
  return (effect) =>
    Effect.flatMap(Unlimited, (unlimited) =>
      unlimited ? effect : deadlines.until(effect, deadlines.after(limitMs), giveUp)
    )
}

/** The server's own timeout has no effect if the server is frozen, unreachable, or behind some poolers. */
export const limitedAcquirer = Effect.fnUntraced(function* (
  acquirer: SqlConnection.Acquirer,
  limit: Duration.Duration
): Effect.fn.Return<SqlConnection.Acquirer, never, Scope.Scope> {
  const deadlines = yield* Deadlines.make
  const free = within(deadlines, limit, "no free connection to the database")
  const answered = within(deadlines, limit, "no answer from the database")
  return Effect.map(free(acquirer), (connection) => aroundStatements(connection, answered))
})

/** A migration that adds a column fails a prepared statement once, which the client cannot retry in a transaction. */
export const unprepared = (connection: SqlConnection.Connection): SqlConnection.Connection => ({
  ...connection,
  execute: connection.executeUnprepared,
  executeValues: connection.executeValuesUnprepared
})

/**
 * For statements that may take minutes, such as a migration. Uses a transaction, because a pooler would leak session
 * settings to other clients, but no background connection, because other background work would wait for it.
 */
export const unlimited = <A, E, R>(sql: SqlClient.SqlClient, effect: Effect.Effect<A, E, R>) =>
  sql
    .withTransaction(Effect.andThen(sql`set local statement_timeout = 0`, effect))
    .pipe(Effect.provideService(Unlimited, true), Effect.provideService(DatabaseLane, "requests"))
