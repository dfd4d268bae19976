import { execFile } from "node:child_process"
import { rm, statfs, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { Effect, Redacted } from "effect"
import { type PostgresServer, postgresServerWith, proxy } from "../../test/support/servers/PostgresServer.ts"
import type { Drill } from "../Drill.ts"
import * as Deployment from "../support/Deployment.ts"
import type { Front } from "../support/Front.ts"
import { during } from "../support/Observation.ts"

const execute = promisify(execFile)

const frozenSeconds = { short: 3, full: 18 }
const afterSeconds = { short: 4, full: 12 }
const size = (short: boolean) => (short ? "short" : "full")

const statement = (server: PostgresServer, sql: string) =>
  Effect.promise(() => execute("psql", [Redacted.value(server.url), "-qc", sql]))

/** A pause that callers survive must not become an outage at the load balancer (R54). */
const frozen = (front: Front): Drill => ({
  name: `postgres-frozen-${front}`,
  failure: `Postgres frozen 18 s, ${front === "direct" ? "direct" : `through ${front}`}`,
  mayFail: 0.01,
  needs: front === "direct" ? {} : { [front]: front },
  run: Effect.fnUntraced(function* ({ short }) {
    const database = yield* Deployment.postgres
    const deployment = yield* Deployment.make({ database, front })
    const seconds = frozenSeconds[size(short)]
    return yield* during(
      deployment,
      { failureSeconds: seconds + 1, afterSeconds: afterSeconds[size(short)], short },
      database.frozen(Effect.sleep(`${seconds} seconds`))
    )
  })
})

/** A standby that has each transaction before its client does loses none of them. */
const promoted: Drill = {
  name: "postgres-promoted",
  failure: "Primary killed, its synchronous standby promoted",
  run: Effect.fnUntraced(function* ({ short }) {
    const database = yield* Deployment.postgres
    const standby = yield* database.standby
    yield* statement(database, "alter system set synchronous_standby_names = '*'")
    yield* statement(database, "select pg_reload_conf()")
    const way = yield* proxy(database.port)
    const deployment = yield* Deployment.make({
      database,
      databaseUrl: way.url
    })
    const failure = Effect.gen(function* () {
      yield* database.kill
      // The setting came with the copy of the files: the new primary would wait for a standby that it has not.
      yield* standby.promote
      yield* statement(standby, "alter system set synchronous_standby_names = ''")
      yield* statement(standby, "select pg_reload_conf()")
      yield* way.switchTo(standby.port)
    })
    return yield* during(deployment, { failureSeconds: 5, afterSeconds: afterSeconds[size(short)], short }, failure)
  })
}

const killed: Drill = {
  name: "postgres-killed",
  failure: "Postgres kill -9 and restart, twice",
  run: Effect.fnUntraced(function* ({ short }) {
    const database = yield* Deployment.postgres
    const deployment = yield* Deployment.make({ database })
    const once = Effect.gen(function* () {
      yield* database.kill
      yield* Effect.sleep("1 second")
      yield* database.start
    })
    return yield* during(
      deployment,
      { failureSeconds: 8, afterSeconds: afterSeconds[size(short)], short },
      Effect.andThen(Effect.andThen(once, Effect.sleep("2 seconds")), once)
    )
  })
}

const diskMegabytes = 160

/** A file system in memory that is as small as a disk must be to fill up soon. */
const smallDisk = (directory: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      await execute("mount", ["-t", "tmpfs", "-o", `size=${diskMegabytes}m,mode=0777`, "tmpfs", directory])
    }),
    () => Effect.promise(async () => void (await execute("umount", ["-l", directory])))
  )

const full: Drill = {
  name: "postgres-full",
  failure: "Disk of the database full, then space again",
  run: Effect.fnUntraced(function* ({ short }) {
    const database = yield* postgresServerWith({ max_connections: "100", max_wal_size: "64MB" }, smallDisk)
    const deployment = yield* Deployment.make({ database })
    const filler = join(database.directory, "filler")
    const fill = Effect.promise(async () => {
      const { bavail, bsize } = await statfs(database.directory)
      await writeFile(filler, Buffer.alloc(bavail * bsize)).catch(() => {})
    })
    const failure = Effect.gen(function* () {
      yield* fill
      // What the server still had allocated is used up during the first seconds.
      yield* Effect.sleep(short ? "3 seconds" : "10 seconds")
      yield* Effect.promise(() => rm(filler))
      // A server that could not write its log has ended and must be started, as an operator does.
      yield* Effect.ignoreCause(database.start)
    })
    return yield* during(
      deployment,
      { failureSeconds: short ? 5 : 12, afterSeconds: afterSeconds[size(short)], short },
      failure
    )
  })
}

const connections: Drill = {
  name: "postgres-connections",
  failure: "Every connection that Postgres has left is taken, then those of the replicas are ended",
  mayFail: 0.01,
  run: Effect.fnUntraced(function* ({ short }) {
    const database = yield* Deployment.postgres
    const deployment = yield* Deployment.make({ database })
    const hog = Array.from({ length: 120 }, () =>
      Effect.ignoreCause(statement(database, `select pg_sleep(${short ? 2 : 5})`))
    )
    const failure = Effect.gen(function* () {
      yield* Effect.all(hog, { concurrency: "unbounded", discard: true })
      yield* statement(
        database,
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'quarry%'"
      )
    })
    return yield* during(
      deployment,
      { failureSeconds: short ? 5 : 12, afterSeconds: afterSeconds[size(short)], short },
      failure
    )
  })
}

export const postgresDrills: ReadonlyArray<Drill> = [
  frozen("direct"),
  frozen("haproxy"),
  frozen("nginx"),
  promoted,
  killed,
  full,
  connections
]
