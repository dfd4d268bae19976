import { type ChildProcess, execFile, spawn } from "node:child_process"
import { promisify } from "node:util"
import { Effect, Random, Redacted, Schedule } from "effect"
import { freePort } from "../../test/support/processes/Spawned.ts"
import { type PostgresServer, postgresServerWith } from "../../test/support/servers/PostgresServer.ts"
import { type RedisServer, redisServer } from "../../test/support/servers/RedisServer.ts"
import type { Scenario } from "../Scenario.ts"
import * as Audit from "../support/Audit.ts"
import type { Answer } from "../support/Client.ts"
import { complaints } from "../support/complaints.ts"
import { Findings } from "../support/Findings.ts"
import * as Load from "../support/Load.ts"
import * as Replica from "../support/Replica.ts"
import * as Stage from "../support/Stage.ts"
import * as Store from "../support/Store.ts"

const execute = promisify(execFile)

const healthyMsMax = 10_000
const holdMs = { short: [500, 1500], full: [5000, 15_000] } as const
const pauseMs = { short: [200, 500], full: [5000, 10_000] } as const
/** A frozen or locked database lets requests wait, which then fail together. */
const frozenMs = 3000

const maxConnections = 40

const postgres = postgresServerWith({ max_connections: `${maxConnections}` })

interface Trouble {
  readonly name: string
  readonly begin: Effect.Effect<unknown, unknown>
  readonly end: Effect.Effect<unknown, unknown>
  readonly maxMs?: number
}

/** Connects to another database, with settings that no trouble changes. */
const asOperator = ({ port }: PostgresServer, ...statements: ReadonlyArray<string>) =>
  Effect.tryPromise(() =>
    execute(
      "psql",
      [`postgres://postgres@127.0.0.1:${port}/template1`, "-q", ...statements.flatMap((it) => ["-c", it])],
      { env: { ...process.env, PGOPTIONS: "-c default_transaction_read_only=off -c synchronous_commit=off" } }
    )
  )

const renew = "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'postgres'"
const reload = "select pg_reload_conf()"

/** Sessions that begin meanwhile keep the setting when it is taken back. */
const ofDatabase = (server: PostgresServer, name: string, value: string): Trouble => ({
  name: `${name} = ${value} for the database`,
  begin: asOperator(server, `alter database postgres set ${name} = ${value}`, renew),
  end: asOperator(server, `alter database postgres reset ${name}`)
})

const ofServer = (server: PostgresServer, name: string, value: string): Trouble => ({
  name: `${name} = ${value} for the server`,
  begin: asOperator(server, `alter system set ${name} = ${value}`, reload),
  end: asOperator(server, `alter system reset ${name}`, reload)
})

/** Opens sessions that run a statement and stay until they are ended. */
const sessions = ({ port }: PostgresServer, count: number, statement: string) => {
  const open: Array<ChildProcess> = []
  return {
    begin: Effect.sync(() => {
      for (let n = 0; n < count; n++) {
        const url = `postgres://postgres@127.0.0.1:${port}/postgres`
        const session = spawn("psql", [url, "-q"], { stdio: ["pipe", "ignore", "ignore"] })
        session.stdin?.on("error", () => {})
        session.stdin?.write(`${statement};\n`)
        open.push(session)
      }
    }),
    end: Effect.sync(() => {
      for (const session of open.splice(0)) session.kill("SIGKILL")
    })
  }
}

const postgresTroubles = (server: PostgresServer): ReadonlyArray<Trouble> => [
  ofDatabase(server, "default_transaction_read_only", "on"),
  ofDatabase(server, "search_path", "nowhere"),
  ofDatabase(server, "default_transaction_isolation", "'serializable'"),
  ofDatabase(server, "lock_timeout", "'1ms'"),
  ofDatabase(server, "idle_session_timeout", "'200ms'"),
  ofDatabase(server, "idle_in_transaction_session_timeout", "'20ms'"),
  ofDatabase(server, "datestyle", "'German'"),
  ofServer(server, "default_transaction_read_only", "on"),
  ofServer(server, "synchronous_standby_names", "'absent'"),
  {
    name: "the database accepts no connections",
    begin: asOperator(server, "alter database postgres allow_connections false", renew),
    end: asOperator(server, "alter database postgres allow_connections true")
  },
  { name: "Postgres is stopped", begin: server.stop("fast"), end: server.start },
  { name: "Postgres has crashed", begin: server.kill, end: server.start },
  { name: "Postgres is frozen", begin: server.freeze, end: server.thaw, maxMs: frozenMs },
  { name: "all connections are taken", ...sessions(server, maxConnections, "select 1") },
  { name: "the wallets are locked", ...sessions(server, 1, "begin; lock table wallets"), maxMs: frozenMs }
]

const redisTroubles = (redis: RedisServer): ReadonlyArray<Trouble> => {
  const cli = (...args: ReadonlyArray<string>) => Effect.promise(() => redis.cli(...args))
  const signal = (name: NodeJS.Signals) => Effect.sync(() => redis.signal(name))
  return [
    { name: "Redis is down", begin: Effect.promise(() => redis.stop()), end: Effect.promise(() => redis.start()) },
    { name: "Redis is frozen", begin: signal("SIGSTOP"), end: signal("SIGCONT") },
    {
      name: "Redis is read-only",
      begin: cli("replicaof", "127.0.0.1", "1"),
      end: cli("replicaof", "no", "one")
    },
    {
      name: "Redis is full",
      begin: cli("config", "set", "maxmemory", "1"),
      end: cli("config", "set", "maxmemory", "0")
    },
    {
      name: "the Redis user has no right to run scripts",
      begin: cli("acl", "setuser", "default", "-eval", "-evalsha"),
      end: cli("acl", "setuser", "default", "+eval", "+evalsha")
    }
  ]
}

interface Watched extends Replica.Replica {
  readonly admin: string
}

/** True if the checks succeed too, which a search does not need. */
const isHealthy = ({ admin }: Watched) =>
  Effect.promise(async () => {
    const response = await fetch(`${admin}/readyz?full`).catch(() => undefined)
    const report = response === undefined ? undefined : ((await response.json()) as { readonly healthy?: boolean })
    return report?.healthy === true
  })

const between = ([least, most]: readonly [number, number]) => Random.nextIntBetween(least, most)

export const temporary: Scenario = {
  name: "temporary",
  promise: "20 settings and faults in random order, each taken back: healthy within 10 s after each, no wrong credit",
  rounds: 20,
  run: Effect.fnUntraced(function* ({ rounds, short }) {
    const findings = yield* Findings
    const server = yield* postgres
    const redis = yield* redisServer
    const stage = yield* Stage.make({ replicas: 0, database: server.url })
    const { client, store } = stage
    const start = Effect.gen(function* () {
      const port = yield* freePort
      const env = { REDIS_URL: Redacted.value(redis.url()), ADMIN_PORT: `${port}` }
      const watched: Watched = {
        ...(yield* Replica.start({ ...stage.how, env })),
        admin: `http://127.0.0.1:${port}`
      }
      return watched
    })
    const replicas = yield* Effect.replicateEffect(start, 2, { concurrency: "unbounded" })
    const customers = yield* Effect.replicateEffect(Store.customer(store, { quota: 1_000_000 }), 3)
    const [customer] = customers
    if (customer === undefined) return
    const load = yield* Load.start({
      client,
      customers,
      replicas: () => replicas,
      callers: 6,
      batches: 0.1,
      rowsOfBatch: 10
    })
    const probes: Array<Answer> = []
    const healthy = Effect.fnUntraced(function* (replica: Watched) {
      const startedAt = performance.now()
      yield* Load.recovery({ client, replica, customer }, probes)
      yield* Effect.repeat(isHealthy(replica), { until: (it) => it, schedule: Schedule.spaced("100 millis") })
      return Math.round(performance.now() - startedAt)
    })

    const all = [...postgresTroubles(server), ...redisTroubles(redis)]
    const passes = yield* Effect.replicateEffect(Random.shuffle(all), Math.ceil(rounds / all.length))
    for (const [index, trouble] of passes.flat().slice(0, rounds).entries()) {
      yield* Effect.sleep(yield* between(short ? pauseMs.short : pauseMs.full))
      const before = load.answers.length
      yield* trouble.begin
      const heldMs = Math.min(
        yield* between(short ? holdMs.short : holdMs.full),
        trouble.maxMs ?? Number.POSITIVE_INFINITY
      )
      yield* Effect.sleep(heldMs)
      yield* trouble.end
      const times = yield* Effect.forEach(replicas, healthy, { concurrency: "unbounded" })
      const ms = Math.max(...times)
      const during = Audit.tally(load.answers.slice(before))
      yield* findings.note(`${index + 1}. ${trouble.name} for ${heldMs} ms: healthy after ${ms} ms (${during})`)
      if (ms > healthyMsMax) yield* findings.violation(`${trouble.name}: healthy only after ${ms} ms`)
    }
    const answers = [...(yield* load.stop), ...probes]
    if (short) yield* Audit.endLeases(store)
    yield* Audit.holdsEnd(store)
    yield* Audit.audit(store, customers, answers)
    for (const complaint of complaints(replicas)) yield* findings.note(`replicas said: ${complaint}`)
    for (const { isRunning } of replicas) if (!isRunning()) yield* findings.violation("a replica has ended")
  })
}
