import { PgClient } from "@effect/sql-pg"
import { Duration, Effect, Layer, Predicate, Redacted, Semaphore } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError } from "effect/sql"
import { DatabaseLane, type Lane } from "../../../services/DatabaseLane.ts"
import { withoutFaulty } from "./FaultyConnections.ts"
import { measured } from "./PoolMetrics.ts"
import { limitedAcquirer, unprepared } from "./StatementLimit.ts"

export interface PostgresOptions {
  readonly url: Redacted.Redacted
  readonly poolSize: number
  /** Idle time after which a connection is closed. Closing may take up to the same time again. */
  readonly idleTimeout?: Duration.Duration | undefined
  /** Keeps a stuck statement from holding a connection and its locks forever. */
  readonly statementTimeout?: Duration.Duration | undefined
  /** Must be false behind a pooler that assigns connections per transaction. */
  readonly prepare?: boolean | undefined
  /** Not for use behind a pooler, which would leak the setting to other clients. */
  readonly readOnly?: boolean | undefined
}

const defaultStatementTimeout = Duration.seconds(10)
/** Lets the server, whose error is more specific, time out first. */
const timeoutGrace = Duration.seconds(2)

const defaultIdleTimeout = Duration.seconds(25)

/** Maximum connections for background work. Together with the operator connections, an idle process holds no more. */
const maxBackgroundConnections = 2
/** Two, so that one can respond while the other waits for a standby to confirm a commit. */
const maxOperatorConnections = 2

export const poolerAdvice =
  "A pooler between this process and the database loses prepared statements, so statements fail. " +
  "Set DATABASE_PREPARE=false."

export const connect = (
  { prepare = true, readOnly = false, statementTimeout = defaultStatementTimeout, url }: PostgresOptions,
  limits: Pick<PgClient.PgPoolConfig, "idleTimeout" | "maxConnections">
) =>
  PgClient.make({
    url,
    ...limits,
    // Keepalive, because a firewall may drop an idle connection, and the next statement would wait forever.
    keepAlive: Duration.seconds(30),
    applicationName: "quarry",
    prepare,
    // A pooler rejects unknown settings. Behind one, only the client enforces the time limit.
    startupParameters: prepare
      ? {
          statement_timeout: `${Math.ceil(Duration.toMillis(statementTimeout))}`,
          ...(readOnly ? { default_transaction_read_only: "on" } : {})
        }
      : {}
  })

/** If a statement of the transaction failed, the server responds with ROLLBACK, which counts as a failure. */
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

/** Operators get at most half of a small pool. Background work leaves at least one connection to requests if it can. */
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
  const warnOnce = yield* Effect.cached(Effect.logWarning(poolerAdvice))
  const fromShared = withoutFaulty(shared.reserve, warnOnce)
  const byLane: Readonly<Record<Lane, SqlConnection.Acquirer>> = {
    requests: fromShared,
    background: Effect.andThen(permit, fromShared),
    operator: withoutFaulty(operator.reserve, warnOnce)
  }
  return Effect.flatMap(DatabaseLane, (lane) => byLane[lane])
})

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
