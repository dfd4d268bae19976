import { spawn } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import * as Pglite from "../../../../src/layers/sql/store/Pglite.ts"
import { temporaryDirectoryIn } from "../../../support/processes/Spawned.ts"
import { storesParent } from "../../../support/stores/Template.ts"

const temporaryDirectory = temporaryDirectoryIn(storesParent())

/** A process that does nothing until the scope ends. */
const idleProcess = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" })),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  ),
  (child) => child.pid ?? assert.fail("the process did not start")
)

const open = <A, E>(dataDir: string, use: (sql: SqlClient.SqlClient) => Effect.Effect<A, E>) =>
  Effect.flatMap(SqlClient.SqlClient, use).pipe(Effect.provide(Pglite.layer({ dataDir }), { local: true }))

const refusal = (dataDir: string) =>
  Effect.map(Effect.flip(open(dataDir, (sql) => sql`select 1`)), (error) =>
    error._tag === "StorageUnavailable" ? error.message : assert.fail(String(error))
  )

/** What other users of the machine may open in a directory, itself included, with the permissions of each. */
const openToOthers = (directory: string) =>
  [".", ...readdirSync(directory, { recursive: true, encoding: "utf8" })]
    .map((name) => `${(statSync(join(directory, name)).mode & 0o777).toString(8)} ${name}`)
    .filter((line) => !/^[67]00 /.test(line))

/** Runs with the umask that hides nothing from anybody. */
const withOpenUmask = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => process.umask(0)),
    () => effect,
    (umask) => Effect.sync(() => process.umask(umask))
  )

describe("Pglite", () => {
  it.live("only the owner may read its files under any umask, while it runs and after", () =>
    Effect.gen(function* () {
      const dataDir = join(yield* temporaryDirectory, "store")
      yield* withOpenUmask(
        open(dataDir, (sql) =>
          Effect.gen(function* () {
            yield* sql`create table kept as select generate_series(1, 10000) as n`
            yield* sql`checkpoint`
            assert.deepStrictEqual(openToOthers(dataDir), [])
          })
        )
      )
      assert.isAbove(readdirSync(join(dataDir, "postgres")).length, 10)
      assert.deepStrictEqual(openToOthers(dataDir), [])
    })
  )

  it.live("a store that others could read is closed to them when it is opened", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporaryDirectory
      yield* open(dataDir, (sql) => sql`create table kept as select 7 as n`)
      writeFileSync(join(dataDir, "secrets.json"), "{}")
      for (const name of ["secrets.json", "postgres/PG_VERSION"]) chmodSync(join(dataDir, name), 0o666)
      for (const name of [".", "postgres", "postgres/base"]) chmodSync(join(dataDir, name), 0o755)
      assert.deepStrictEqual(yield* open(dataDir, (sql) => sql`select n from kept`), [{ n: 7 }])
      assert.deepStrictEqual(openToOthers(dataDir), [])
    })
  )

  it.live("a directory that all users share is refused and left as it is", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporaryDirectory
      chmodSync(dataDir, 0o1777)
      assert.match(yield* refusal(dataDir), /^DATA_DIR [^\n]+ cannot be used: all users of the machine share it\./)
      assert.strictEqual(statSync(dataDir).mode & 0o7777, 0o1777)
    })
  )

  it.live("keeps data, and takes over the lock of a process that died", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporaryDirectory
      yield* open(dataDir, (sql) =>
        Effect.andThen(sql`create table kept (n integer)`, sql`insert into kept values (7)`)
      )
      writeFileSync(join(dataDir, "quarry.pid"), "4194304 1")
      assert.deepStrictEqual(yield* open(dataDir, (sql) => sql`select n from kept`), [{ n: 7 }])
    })
  )

  it.live("a data directory that refuses the lock is one message, and not an error of ours", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporaryDirectory
      mkdirSync(join(dataDir, "quarry.pid"))
      assert.match(yield* refusal(dataDir), /^DATA_DIR [^\n]+ cannot be used: E[^\n]+\.$/)
    })
  )

  it.live("one process at a time: the second learns who holds the directory", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporaryDirectory
      const message = yield* open(dataDir, () => refusal(dataDir))
      assert.include(message, `process ${process.pid}`)
      assert.include(message, "DATA_DIR")
    })
  )

  // Elsewhere the system does not say when a process started.
  it.live.skipIf(!existsSync("/proc/self/stat"))("a pid that now belongs to another process holds nothing", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporaryDirectory
      const pid = yield* idleProcess
      writeFileSync(join(dataDir, "quarry.pid"), `${pid} 1`)
      assert.deepStrictEqual(yield* open(dataDir, (sql) => sql`select 1 as n`), [{ n: 1 }])
    })
  )

  it.live("a directory with something else in it is left alone, with one message", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporaryDirectory
      mkdirSync(join(dataDir, "postgres"))
      writeFileSync(join(dataDir, "postgres", "letter.txt"), "not a database")
      const message = yield* refusal(dataDir)
      assert.include(message, join(dataDir, "postgres"))
      assert.include(message, "move it away")
      assert.strictEqual(message.split("\n").length, 1)
    })
  )

  it.live("a damaged directory is refused with one message", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporaryDirectory
      yield* open(dataDir, (sql) => sql`select 1`)
      rmSync(join(dataDir, "postgres", "global"), { recursive: true })
      const message = yield* refusal(dataDir)
      assert.include(message, "Restore the directory")
      assert.strictEqual(message.split("\n").length, 1)
    })
  )

  it.live("transactions, parallel statements and interrupted ones share the one connection", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporaryDirectory
      yield* open(
        dataDir,
        Effect.fnUntraced(function* (sql) {
          yield* sql`create table counted (n integer)`
          yield* Effect.forEach(
            Array.from({ length: 50 }, (_, n) => n),
            (n) =>
              sql
                .withTransaction(
                  Effect.andThen(sql`insert into counted values (${n})`, n % 5 ? Effect.void : Effect.fail(n))
                )
                .pipe(Effect.ignore),
            { concurrency: "unbounded" }
          )
          const slow = yield* Effect.forkChild(sql`select count(*) from generate_series(1, 300000)`)
          yield* Effect.yieldNow
          yield* Fiber.interrupt(slow)
          const failed = yield* Effect.flip(sql`select nothing from nowhere`)
          assert.strictEqual(failed.reason._tag, "SqlSyntaxError")
          assert.deepStrictEqual(yield* sql`select count(*)::int as n from counted`, [{ n: 40 }])
        })
      )
    })
  )

  it.live("the memory of the process does not grow with the rows that it has read", () =>
    Effect.gen(function* () {
      setFlagsFromString("--expose-gc")
      const collect: () => void = runInNewContext("gc")
      const heap = Effect.sync(() => {
        collect()
        return process.memoryUsage().heapUsed
      })
      const rows = 5_000
      const readBytes = 20 * rows * 1_000
      yield* open(
        yield* temporaryDirectory,
        Effect.fnUntraced(function* (sql) {
          const read = sql`select repeat('x', 1000) || n as text from generate_series(1, ${rows}) n`
          yield* read
          const before = yield* heap
          yield* Effect.replicateEffect(read, 20, { discard: true })
          assert.isBelow((yield* heap) - before, readBytes / 10)
        })
      )
    })
  )
})
