import { PgClient } from "@effect/sql-pg"
import { Duration, Effect, Layer, Predicate, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError } from "effect/sql"
import { measured } from "./PoolMetrics.ts"
import { limitedAcquirer, unprepared } from "./StatementLimit.ts"

export interface PostgresOptions {
  readonly url: Redacted.Redacted
  /** Most connections that this process opens. */
  readonly poolSize: number
  /** Time limit of a statement: a stuck one must not hold a connection, and its locks, for ever. */
  readonly statementTimeout?: Duration.Duration | undefined
  /** False behind a pooler that gives each transaction another connection. */
  readonly prepare?: boolean | undefined
}

const defaultStatementTimeout = Duration.seconds(10)
/** Added to the time limit on this side, so that the server, whose error says more, gives up first. */
const timeoutGrace = Duration.seconds(2)

const connect = ({ poolSize, prepare = true, statementTimeout = defaultStatementTimeout, url }: PostgresOptions) =>
  PgClient.make({
    url,
    maxConnections: poolSize,
    idleTimeout: Duration.infinity,
    // A firewall may forget a silent connection, and the next statement would wait for an answer that cannot come.
    keepAlive: Duration.seconds(30),
    applicationName: "quarry",
    prepare,
    // A pooler refuses settings that it does not know; behind one, only this process has a time limit.
    startupParameters: prepare ? { statement_timeout: `${Math.ceil(Duration.toMillis(statementTimeout))}` } : {}
  })

/** Commits. The server answers ROLLBACK when a statement of the transaction has failed, and that is no success. */
export const commit = (connection: SqlConnection.Connection): Effect.Effect<void, SqlError.SqlError> =>
  Effect.flatMap(connection.executeRaw("COMMIT", []), (result) => {
    if (!Predicate.hasProperty(result, "command") || result.command !== "ROLLBACK") return Effect.void
    const cause = new Error("COMMIT rolled back an aborted transaction")
    const reason = new SqlError.UnknownError({ cause, message: cause.message, operation: "commit" })
    return Effect.fail(new SqlError.SqlError({ reason }))
  })

const spanAttributes = (url: Redacted.Redacted): ReadonlyArray<readonly [string, unknown]> => {
  const { hostname, pathname, port } = new URL(Redacted.value(url))
  return [
    ["db.system.name", "postgresql"],
    ["db.namespace", pathname.slice(1)],
    ["server.address", hostname],
    ["server.port", Number(port || 5432)]
  ]
}

/** A pool of connections to a Postgres server, opened on first use. Every wait for one has a time limit. */
export const layer = (options: PostgresOptions): Layer.Layer<SqlClient.SqlClient, SqlError.SqlError> =>
  Layer.effect(
    SqlClient.SqlClient,
    Effect.gen(function* () {
      const pool = yield* connect(options)
      const limit = Duration.sum(options.statementTimeout ?? defaultStatementTimeout, timeoutGrace)
      const acquirer = yield* measured(yield* limitedAcquirer(pool.reserve, limit), options.poolSize)
      return yield* SqlClient.make({
        acquirer,
        transactionAcquirer: Effect.map(acquirer, unprepared),
        compiler: PgClient.makeCompiler(),
        driver: "pg",
        spanAttributes: spanAttributes(options.url),
        commit,
        releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`
      })
    })
  ).pipe(Layer.provide(Reactivity.layer))
