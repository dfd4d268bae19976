import { Effect, Predicate, Scope } from "effect"
import type { SqlConnection, SqlError } from "effect/sql"
import { aroundStatements } from "./AroundStatements.ts"

/**
 * SQLSTATEs after which a connection is closed instead of returning to the pool, because its session or the server may
 * keep the fault: a setting that was in force when the session began, a server that is ending, a pooler that lost the
 * session's prepared statements or its transaction.
 */
const closingStates = {
  "25006": "read_only_sql_transaction",
  "25P02": "in_failed_sql_transaction",
  "57P01": "admin_shutdown",
  "57P02": "crash_shutdown",
  "57P03": "cannot_connect_now",
  // Quarry's own tables and functions always exist, but a session may have begun with another `search_path`.
  "3F000": "invalid_schema_name",
  "42P01": "undefined_table",
  "42883": "undefined_function",
  "26000": "invalid_sql_statement_name",
  "42P05": "duplicate_prepared_statement",
  "08P01": "protocol_violation"
} as const

const preparedStates: ReadonlySet<unknown> = new Set(["26000", "42P05", "08P01"])

const stateOf = ({ reason }: SqlError.SqlError): unknown =>
  Predicate.hasProperty(reason.cause, "code") ? reason.cause.code : undefined

const closes = (error: SqlError.SqlError): boolean => Object.hasOwn(closingStates, String(stateOf(error)))

const messageOf = ({ reason }: SqlError.SqlError): string =>
  Predicate.hasProperty(reason.cause, "message") ? String(reason.cause.message) : reason.message

/** True if a pooler gave the statement to a server that does not have the session's prepared statements. */
const lostPrepared = (error: SqlError.SqlError): boolean =>
  preparedStates.has(stateOf(error)) && /prepared statement/i.test(messageOf(error))

const maxClosingTime = "1 second"

/** Ends the session on the server, so that the pool opens another one. A failed transaction would ignore statements. */
const close = (connection: SqlConnection.Connection) =>
  Effect.forEach(
    ["ROLLBACK", "SELECT pg_terminate_backend(pg_backend_pid())"],
    (statement) => Effect.ignore(connection.executeUnprepared(statement, [], undefined)),
    { discard: true }
  ).pipe(Effect.timeoutOption(maxClosingTime))

const endsTransaction = (statement: string): boolean => statement === "COMMIT" || statement === "ROLLBACK"

/** No connection that answered with a closing state, or whose transaction did not end, serves another statement. */
export const withoutFaulty = (
  acquirer: SqlConnection.Acquirer,
  onLostPrepared: Effect.Effect<void>
): SqlConnection.Acquirer =>
  Effect.gen(function* () {
    const connection = yield* acquirer
    let isFaulty = false
    const closeIfFaulty = Effect.suspend(() => (isFaulty ? close(connection) : Effect.void))
    // `Effect.addFinalizer` would copy the fiber's context for each statement.
    yield* Scope.addFinalizer(yield* Effect.scope, closeIfFaulty)
    const watch = <A, R>(statement: Effect.Effect<A, SqlError.SqlError, R>, text?: string) =>
      Effect.tapError(statement, (error) => {
        isFaulty ||= closes(error) || (text !== undefined && endsTransaction(text))
        return lostPrepared(error) ? onLostPrepared : Effect.void
      })
    return {
      ...aroundStatements(connection, watch),
      executeRaw: (text, params) => watch(connection.executeRaw(text, params), text),
      executeUnprepared: (text, ...rest) => watch(connection.executeUnprepared(text, ...rest), text)
    }
  })
