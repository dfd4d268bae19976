import { PgClient } from "@effect/sql-pg"
import { Duration, type Layer, type Redacted } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

export interface PostgresOptions {
  readonly url: Redacted.Redacted
  /** Connections this process opens at most. */
  readonly poolSize: number
  /** The server gives up a statement after this time: a stuck one must not hold a connection, and its locks, for good. */
  readonly statementTimeoutMs?: number | undefined
  /** Off behind a pooler that hands each statement to another connection. */
  readonly prepare?: boolean | undefined
}

const defaultStatementTimeoutMs = 10_000

/** A pool of connections to a Postgres server. They are opened on first use. */
export const layer = (
  options: PostgresOptions
): Layer.Layer<PgClient.PgClient | SqlClient.SqlClient, SqlError.SqlError> =>
  PgClient.layer({
    url: options.url,
    maxConnections: options.poolSize,
    idleTimeout: Duration.infinity,
    // What stands between may forget a silent connection, and the next statement would wait for nothing.
    keepAlive: Duration.seconds(30),
    applicationName: "quarry",
    prepare: options.prepare ?? true,
    startupParameters: { statement_timeout: String(options.statementTimeoutMs ?? defaultStatementTimeoutMs) }
  })
