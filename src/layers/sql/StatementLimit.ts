import { Context, Data, Duration, Effect, type Scope } from "effect"
import { type SqlClient, SqlConnection, SqlError } from "effect/sql"
import { Deadlines } from "../../services/Deadlines.ts"

/** The database did not answer in time. Whether the statement was carried out is not known. */
export class Unanswered extends Data.TaggedError("Unanswered")<{ readonly message: string }> {}

/** Whether a statement of this fiber may take as long as it takes. */
const Unlimited = Context.Reference("quarry/layers/sql/Unlimited", { defaultValue: () => false })

type Limit = <A, R>(effect: Effect.Effect<A, SqlError.SqlError, R>) => Effect.Effect<A, SqlError.SqlError, R>

/** What is given up has ended before that is told, so that its connection is not handed on with work on it. */
const within = (deadlines: Deadlines, limit: Duration.Duration, what: string): Limit => {
  const limitMs = Duration.toMillis(limit)
  const giveUp = (ended: Effect.Effect<void>) => {
    const cause = new Unanswered({ message: `${what} within the limit` })
    const reason = new SqlError.ConnectionError({ cause, message: cause.message, operation: "wait" })
    return Effect.andThen(ended, Effect.fail(new SqlError.SqlError({ reason })))
  }
  return (effect) =>
    Effect.flatMap(Unlimited, (unlimited) =>
      unlimited ? effect : deadlines.within(effect, deadlines.after(limitMs), giveUp)
    )
}

/**
 * A connection that gives up what the server does not answer: a timeout of the server's own does nothing while it is
 * frozen, is partitioned away, or hides behind a pooler that passes no timeout on.
 */
const limited = (connection: SqlConnection.Connection, answered: Limit): SqlConnection.Connection =>
  SqlConnection.Connection.of({
    execute: (...args) => answered(connection.execute(...args)),
    executeRaw: (...args) => answered(connection.executeRaw(...args)),
    executeStream: (...args) => connection.executeStream(...args),
    executeValues: (...args) => answered(connection.executeValues(...args)),
    executeValuesUnprepared: (...args) => answered(connection.executeValuesUnprepared(...args)),
    executeUnprepared: (...args) => answered(connection.executeUnprepared(...args))
  })

/** The connections of a pool, each wait for one and each statement limited in time. */
export const limitedAcquirer = Effect.fnUntraced(function* (
  acquirer: SqlConnection.Acquirer,
  limit: Duration.Duration
): Effect.fn.Return<SqlConnection.Acquirer, never, Scope.Scope> {
  const deadlines = yield* Deadlines.make
  const free = within(deadlines, limit, "no free connection to the database")
  const answered = within(deadlines, limit, "no answer from the database")
  return Effect.map(free(acquirer), (connection) => limited(connection, answered))
})

/**
 * A connection that prepares nothing. A prepared statement fails once after a column was added to what it reads; the
 * client prepares it again, but not inside a transaction, which has failed by then.
 */
export const unprepared = (connection: SqlConnection.Connection): SqlConnection.Connection => ({
  ...connection,
  execute: connection.executeUnprepared,
  executeValues: connection.executeValuesUnprepared
})

/**
 * Runs statements that may take minutes (a migration, the whole of the books) in a transaction without a timeout on
 * either side. Transaction settings are what a pooler keeps apart for its clients.
 */
export const unlimited = <A, E, R>(sql: SqlClient.SqlClient, effect: Effect.Effect<A, E, R>) =>
  sql
    .withTransaction(Effect.andThen(sql`set local statement_timeout = 0`, effect))
    .pipe(Effect.provideService(Unlimited, true))
