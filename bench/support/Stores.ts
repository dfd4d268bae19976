import { Data, Effect, Fiber, Redacted, type Scope } from "effect"
import pg from "pg"
import { postgresServerWith, serverInstalled } from "../../test/support/servers/PostgresServer.ts"
import { RedisServer, redisInstalled } from "../../test/support/servers/RedisServer.ts"

/** The benchmark cannot run here. The message says what is missing. */
export class CannotRun extends Data.TaggedError("CannotRun")<{ readonly message: string }> {}

/** Postgres and Redis, the same for both sides. */
export interface Stores {
  /** The address of an empty database, which is dropped when the scope closes. */
  readonly database: (name: string) => Effect.Effect<string, never, Scope.Scope>
  readonly redisUrl: string
  /** The servers' process ids, to measure CPU time. Undefined if the benchmark did not start the server. */
  readonly pids: { readonly postgres: number | undefined; readonly redis: number | undefined }
  /** Flushes pending writes between runs, so that their cost is not attributed to the next run. */
  readonly settle: Effect.Effect<void>
  /** One line that describes the servers' configuration. */
  readonly description: string
}

/** Changes to Debian's defaults: memory for the working set, no checkpoints during a run, and more connections. */
const settings = {
  shared_buffers: "256MB",
  max_wal_size: "4GB",
  checkpoint_timeout: "1h",
  max_connections: "200",
  // bench/profile.ts tracks its own database.
  shared_preload_libraries: "pg_stat_statements",
  "pg_stat_statements.track": "none"
}

/** The cast to `Row`: the caller knows the columns of its statement. */
export const query = <Row>(url: string, text: string) =>
  Effect.promise(async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      return (await client.query(text)).rows as ReadonlyArray<Row>
    } finally {
      await client.end()
    }
  })

const postgres = Effect.gen(function* () {
  const given = process.env.BENCH_DATABASE_URL
  if (given !== undefined) return { url: given, pid: undefined }
  if (!serverInstalled) {
    return yield* new CannotRun({
      message: "There is no Postgres: install Debian's package postgresql, or name a server in BENCH_DATABASE_URL."
    })
  }
  const server = yield* postgresServerWith(settings)
  return { url: Redacted.value(server.url), pid: (yield* server.pids)[0] }
})

const redis = Effect.gen(function* () {
  const given = process.env.BENCH_REDIS_URL
  if (given !== undefined) return { url: given, pid: undefined }
  if (!redisInstalled) {
    return yield* new CannotRun({
      message: "There is no Redis: install redis-server, or name a server in BENCH_REDIS_URL."
    })
  }
  const server = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const server = await RedisServer.make()
      await server.start()
      return server
    }),
    (server) => Effect.promise(() => server.stop())
  )
  return { url: `redis://127.0.0.1:${server.port}`, pid: server.pid }
})

/** Servers that the environment names, or else the benchmark's own, which stop when the scope closes. */
export const start = Effect.gen(function* () {
  const { pid: postgresPid, url: postgresUrl } = yield* postgres
  const { pid: redisPid, url: redisUrl } = yield* redis
  const [shown] = yield* query<Readonly<Record<string, string>>>(
    postgresUrl,
    `select current_setting('server_version') as version, current_setting('shared_buffers') as buffers,
      current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit`
  )
  const stores: Stores = {
    database: (name) => {
      const drop = query(postgresUrl, `drop database if exists ${name} with (force)`)
      // Removes a database that an interrupted run left behind.
      const make = Effect.andThen(drop, query(postgresUrl, `create database ${name}`))
      return Effect.as(
        Effect.acquireRelease(make, () => drop),
        new URL(`/${name}`, postgresUrl).href
      )
    },
    redisUrl,
    pids: { postgres: postgresPid, redis: redisPid },
    settle: Effect.asVoid(query(postgresUrl, "checkpoint")),
    description: `Postgres ${shown?.version} (shared_buffers ${shown?.buffers}, fsync ${shown?.fsync}, synchronous_commit ${shown?.commit})`
  }
  return stores
})

const watchEveryMs = 50

/**
 * Counts the transactions of a database while an effect runs. The service sends each statement of a search in its own
 * transaction. Samples what sessions wait for, which costs Postgres about a percent.
 */
export const watchStatements = <A, E, R>(databaseUrl: string, work: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const client = new pg.Client({ connectionString: databaseUrl })
    yield* Effect.acquireRelease(
      Effect.promise(() => client.connect()),
      () => Effect.promise(() => client.end())
    )
    const transactions = Effect.promise(async () => {
      const { rows } = await client.query("select xact_commit from pg_stat_database where datname = current_database()")
      return Number(rows[0].xact_commit)
    })
    let samples = 0
    const waiting = { rows: 0, log: 0 }
    const sample = Effect.promise(async () => {
      const { rows } = await client.query(
        `select count(*) filter (where wait_event_type = 'Lock') as rows,
           count(*) filter (where wait_event like 'WAL%') as log
         from pg_stat_activity where datname = current_database() and state = 'active'`
      )
      samples++
      waiting.rows += Number(rows[0].rows)
      waiting.log += Number(rows[0].log)
    })
    const before = yield* transactions
    const sampling = yield* Effect.forkChild(Effect.forever(Effect.andThen(sample, Effect.sleep(watchEveryMs))))
    const value = yield* work
    yield* Fiber.interrupt(sampling)
    // The sampling's own transactions do not count. Sessions report theirs at most a second late.
    yield* Effect.sleep("1 second")
    const statements = (yield* transactions) - before - samples
    return { value, statements, waits: { rows: waiting.rows / samples, log: waiting.log / samples } }
  }).pipe(Effect.scoped)
