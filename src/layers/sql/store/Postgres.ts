import { PgClient } from "@effect/sql-pg"
import { Duration, Effect, Layer, Predicate, Redacted, Semaphore } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError } from "effect/sql"
import { DatabaseLane, type Lane } from "../../../services/operations/DatabaseLane.ts"
import { measured } from "./PoolMetrics.ts"
import { limitedAcquirer, unprepared } from "./StatementLimit.ts"

export interface PostgresOptions {
  readonly url: Redacted.Redacted
  /** Most connections that this process opens. */
  readonly poolSize: number
  /** The time after which a connection that is not used is closed, within the same time again. */
  readonly idleTimeout?: Duration.Duration | undefined
  /** Time limit of a statement: a stuck one must not hold a connection, and its locks, for ever. */
  readonly statementTimeout?: Duration.Duration | undefined
  /** False behind a pooler that gives each transaction another connection. */
  readonly prepare?: boolean | undefined
  /** True makes the server refuse writes; not behind a pooler, which would pass the setting on to other clients. */
  readonly readOnly?: boolean | undefined
}

const defaultStatementTimeout = Duration.seconds(10)
/** Added to the time limit on this side, so that the server, whose error says more, gives up first. */
const timeoutGrace = Duration.seconds(2)

const defaultIdleTimeout = Duration.seconds(25)

/** The most connections that background work uses at once. With the operators' ones, they are those of an idle process. */
const maxBackgroundConnections = 2
/** One for a commit that waits for a standby, and one that answers meanwhile. */
const maxOperatorConnections = 2

const connect = (
  { prepare = true, readOnly = false, statementTimeout = defaultStatementTimeout, url }: PostgresOptions,
  limits: Pick<PgClient.PgPoolConfig, "idleTimeout" | "maxConnections">
) =>
  PgClient.make({
    url,
    ...limits,
    // A firewall may forget a silent connection, and the next statement would wait for an answer that cannot come.
    keepAlive: Duration.seconds(30),
    applicationName: "quarry",
    prepare,
    // A pooler refuses settings that it does not know; behind one, only this process has a time limit.
    startupParameters: prepare
      ? {
          statement_timeout: `${Math.ceil(Duration.toMillis(statementTimeout))}`,
          ...(readOnly ? { default_transaction_read_only: "on" } : {})
        }
      : {}
  })

/** Commits. If a statement of the transaction failed, the server responds with ROLLBACK, which is treated as a failure. */
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

/**
 * The connections of the process, by the lane of the fiber that asks for one. Half of a pool of less than four are the
 * operators', rounded down, and background work leaves one to requests where there are two.
 */
const lanes = Effect.fnUntraced(function* (options: PostgresOptions) {
  const { idleTimeout = defaultIdleTimeout, poolSize } = options
  const operatorSize = Math.min(maxOperatorConnections, Math.floor(poolSize / 2))
  const sharedSize = poolSize - operatorSize
  const shared = yield* connect(options, { maxConnections: sharedSize, idleTimeout })
  const operator =
    operatorSize === 0
      ? shared
      : yield* connect(options, { maxConnections: operatorSize, idleTimeout: Duration.infinity })
  const permits = yield* Semaphore.make(Math.max(1, Math.min(maxBackgroundConnections, sharedSize - 1)))
  const permit = Effect.acquireRelease(permits.take(1), () => permits.release(1), { interruptible: true })
  const byLane: Readonly<Record<Lane, SqlConnection.Acquirer>> = {
    requests: shared.reserve,
    background: Effect.andThen(permit, shared.reserve),
    operator: operator.reserve
  }
  return Effect.flatMap(DatabaseLane, (lane) => byLane[lane])
})

/** A pool of connections to a Postgres server, opened on first use. Every wait for one has a time limit. */
export const layer = (options: PostgresOptions): Layer.Layer<SqlClient.SqlClient, SqlError.SqlError> =>
  Layer.effect(
    SqlClient.SqlClient,
    Effect.gen(function* () {
      const acquire = yield* lanes(options)
      const limit = Duration.sum(options.statementTimeout ?? defaultStatementTimeout, timeoutGrace)
      const acquirer = yield* measured(yield* limitedAcquirer(acquire, limit), options.poolSize)
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
