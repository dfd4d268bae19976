import { execFileSync, spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as DatabaseChecks from "../../../../src/layers/sql/store/DatabaseChecks.ts"
import { lockDirectory } from "../../../../src/layers/sql/store/DirectoryLock.ts"
import * as Pglite from "../../../../src/layers/sql/store/Pglite.ts"
import * as Postgres from "../../../../src/layers/sql/store/Postgres.ts"
import { retryTransient } from "../../../../src/layers/sql/Transient.ts"
import { temporaryDirectory } from "../../../support/processes/Spawned.ts"
import { describeWithServers, pooler, postgresServer } from "../../../support/servers/PostgresServer.ts"

const timeout = 120_000

const refusalOf = (url: Redacted.Redacted) =>
  Effect.map(Effect.flip(DatabaseChecks.run({ url, poolSize: 2 })), (error) => error.message)

/** Runs statements of an operator, on a connection of their own. */
const asOperator = (url: Redacted.Redacted, ...statements: ReadonlyArray<string>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
  ).pipe(Effect.provide(Postgres.layer({ url, poolSize: 1 }), { local: true }))

describeWithServers("faults that end leave nothing behind", () => {
  it.live(
    "a connection opened while the database was read-only is closed, and writes work as soon as it is not",
    () =>
      Effect.gen(function* () {
        const { url } = yield* postgresServer
        yield* asOperator(url, "create table kept (n integer)")
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* asOperator(url, "alter database postgres set default_transaction_read_only = on")
          const write = sql.withTransaction(sql`insert into kept values (1)`)
          assert.isTrue(Exit.isFailure(yield* Effect.exit(write)))
          yield* asOperator(
            url,
            "set default_transaction_read_only = off",
            "alter database postgres set default_transaction_read_only = off"
          )
          yield* retryTransient(write)
          assert.lengthOf(yield* sql`select n from kept`, 1)
        }).pipe(Effect.provide(Postgres.layer({ url, poolSize: 2 }), { local: true }))
      }),
    timeout
  )

  it.live(
    "no connection stays in a transaction whose statement failed",
    () =>
      Effect.gen(function* () {
        const { url } = yield* postgresServer
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const failing = sql.withTransaction(sql`select 1 / 0`)
          yield* Effect.all([failing, failing, failing].map(Effect.exit), { concurrency: "unbounded" })
          const left = yield* sql`select state from pg_stat_activity where state like 'idle in transaction%'`
          assert.deepStrictEqual(left, [])
        }).pipe(Effect.provide(Postgres.layer({ url, poolSize: 4 }), { local: true }))
      }),
    timeout
  )

  it.live(
    "a pooler that loses prepared statements is named at the start, unless they are off",
    () =>
      Effect.gen(function* () {
        const { url } = yield* pooler(yield* postgresServer, 2, ["ignore_startup_parameters = statement_timeout"])
        assert.match(yield* refusalOf(url), /pooler .* DATABASE_PREPARE=false/)
        yield* DatabaseChecks.run({ url, poolSize: 2, prepare: false })
      }),
    timeout
  )

  it.live(
    "a server without a pooler keeps its prepared statements",
    () => Effect.flatMap(postgresServer, ({ url }) => DatabaseChecks.run({ url, poolSize: 2 })),
    timeout
  )

  it.live(
    "a database with another encoding than UTF-8 is refused in one line, with the command that creates one in UTF-8",
    () =>
      Effect.gen(function* () {
        const { url } = yield* postgresServer
        yield* asOperator(url, "create database latin encoding 'LATIN1' locale 'C' template template0")
        const latin = new URL(Redacted.value(url))
        latin.pathname = "/latin"
        const message = yield* refusalOf(Redacted.make(latin.href))
        assert.match(message, /encoding LATIN1.*encoding 'UTF8'/)
        assert.notInclude(message, "\n")
      }),
    timeout
  )
})

/** A file system of 90 MB, on which an embedded store has little room left. */
const smallDisk = Effect.acquireRelease(
  Effect.sync(() => {
    const directory = mkdtempSync(join(tmpdir(), "quarry-disk-"))
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=90m", "tmpfs", directory])
    return directory
  }),
  (directory) =>
    Effect.sync(() => {
      execFileSync("umount", [directory])
      rmSync(directory, { recursive: true })
    })
)

const openingOf = (dataDir: string) =>
  Effect.exit(Effect.provide(SqlClient.SqlClient, Pglite.layer({ dataDir }), { local: true }))

it.live.skipIf(process.getuid?.() !== 0)(
  "a full disk is called full, and the store opens once there is room (needs root)",
  () =>
    Effect.gen(function* () {
      const disk = yield* smallDisk
      const dataDir = join(disk, "store")
      assert.isTrue(Exit.isSuccess(yield* openingOf(dataDir)))
      // As after a kill: the start has to write before it can end.
      rmSync(join(dataDir, "postgres", "postmaster.pid"), { force: true })
      const filler = join(disk, "filler")
      execFileSync("sh", ["-c", `dd if=/dev/zero of=${filler} bs=4k 2>/dev/null || true`])
      const message = String(yield* openingOf(dataDir))
      assert.match(message, /its disk is full/)
      assert.notMatch(message, /damaged|move/)
      rmSync(filler)
      assert.isTrue(Exit.isSuccess(yield* openingOf(dataDir)))
    }),
  timeout
)

/** A process that has ended, and whose parent never reads its exit code. */
const zombie = Effect.acquireRelease(
  Effect.sync(() => spawn("sh", ["-c", "sleep 0 & echo $!; exec sleep 60"], { stdio: ["ignore", "pipe", "ignore"] })),
  (parent) => Effect.sync(() => parent.kill("SIGKILL"))
).pipe(
  Effect.flatMap((parent) =>
    Effect.promise(
      () => new Promise<number>((done) => parent.stdout.once("data", (text: Buffer) => done(Number(text.toString()))))
    )
  )
)

const stateOf = (pid: number) => /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1]

it.live.skipIf(!existsSync("/proc/self/stat"))("a process that ended but was not reaped holds no directory", () =>
  Effect.gen(function* () {
    const dataDir = join(yield* temporaryDirectory, "store")
    mkdirSync(dataDir)
    const pid = yield* zombie
    yield* Effect.sleep("10 millis").pipe(Effect.repeat({ until: () => stateOf(pid) === "Z" }))
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    writeFileSync(join(dataDir, "quarry.pid"), `${pid} ${stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]}`)
    yield* Effect.scoped(lockDirectory(dataDir))
  })
)
