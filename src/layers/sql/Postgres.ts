import { PgClient } from "@effect/sql-pg"
import { Duration, Effect, Layer, Predicate, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError } from "effect/sql"
import { measured } from "./PoolMetrics.ts"
import { limitedAcquirer, unprepared } from "./StatementLimit.ts"

export interface PostgresOptions {
  readonly url: Redacted.Redacted
  /** Connections this process opens at most. */
  readonly poolSize: number
  /** A stuck statement is given up after this time: it must not hold a connection, and its locks, for good. */
  readonly statementTimeout?: Duration.Duration | undefined
  /** Off behind a pooler that hands each transaction to another connection. */
  readonly prepare?: boolean | undefined
}

const defaultStatementTimeout = Duration.seconds(10)
/** By so much the server is given up on later than it gives up itself, so that it is the one to tell. */
const timeoutGrace = Duration.seconds(2)

const connect = ({ poolSize, prepare = true, statementTimeout = defaultStatementTimeout, url }: PostgresOptions) =>
  PgClient.make({
    url,
    maxConnections: poolSize,
    idleTimeout: Duration.infinity,
    // What stands between may forget a silent connection, and the next statement would wait for nothing.
    keepAlive: Duration.seconds(30),
    applicationName: "quarry",
    prepare,
    // A pooler refuses settings that it does not know; behind one, only this process watches the time.
    startupParameters: prepare ? { statement_timeout: `${Math.ceil(Duration.toMillis(statementTimeout))}` } : {}
  })

/** A transaction that a failed statement has doomed answers COMMIT with ROLLBACK, which is not a success. */
const commit = (connection: SqlConnection.Connection): Effect.Effect<void, SqlError.SqlError> =>
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

/** A pool of connections to a Postgres server. They are opened on first use, and no wait for one is without end. */
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
