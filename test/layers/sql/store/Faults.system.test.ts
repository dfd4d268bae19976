import { execFileSync, spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Predicate, Redacted, Schedule } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import * as DatabaseChecks from "../../../../src/layers/sql/store/DatabaseChecks.ts"
import { lockDirectory } from "../../../../src/layers/sql/store/DirectoryLock.ts"
import * as Pglite from "../../../../src/layers/sql/store/Pglite.ts"
import * as Postgres from "../../../../src/layers/sql/store/Postgres.ts"
import { temporaryDirectory } from "../../../support/processes/Spawned.ts"
import {
  describeWithServers,
  type PostgresServer,
  pooler,
  postgresServer
} from "../../../support/servers/PostgresServer.ts"

const timeout = 120_000

const refusalOf = (url: Redacted.Redacted) =>
  Effect.map(Effect.flip(DatabaseChecks.run({ url, poolSize: 2 })), (error) => error.message)

/** Runs statements of an operator, on a connection of their own. */
const asOperator = (url: Redacted.Redacted, ...statements: ReadonlyArray<string>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
  ).pipe(Effect.provide(Postgres.layer({ url, poolSize: 1 }), { local: true }))

const pidOf = (sql: SqlClient.SqlClient) =>
  Effect.map(sql<{ readonly pid: number }>`select pg_backend_pid() as pid`, ([row]) => row?.pid)

/** A statement that the driver has prepared: it sends the first execution without a name. */
const prepared = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const statement = sql`select ${1}::integer as n`
  yield* Effect.repeat(statement, { times: 2 })
  const [row] = yield* sql<{ readonly name: string }>`
    select name from pg_prepared_statements where statement like ${"%as n"} and name like ${"effect%"}`
  return { statement, name: row?.name ?? "" }
})

/** Waits until the statement runs, then breaks its session. */
const whileSleeping = (sql: SqlClient.SqlClient, fault: Effect.Effect<unknown, unknown>) =>
  Effect.gen(function* () {
    const sleep = yield* Effect.forkChild(sql`select pg_sleep(60)`)
    yield* Effect.sleep("300 millis")
    yield* fault
    yield* Fiber.join(sleep)
  })

const isWalWriter = (pid: number): boolean => {
  const path = `/proc/${pid}/cmdline`
  return existsSync(path) && readFileSync(path, "utf8").includes("walwriter")
}

interface Fault {
  /** Undefined if the session ends without an answer that the driver reads. */
  readonly state: string | undefined
  readonly name: string
  /** Lets a statement fail, on the only connection of the pool. */
  readonly cause: (sql: SqlClient.SqlClient, server: PostgresServer) => Effect.Effect<unknown, unknown>
}

const faults: ReadonlyArray<Fault> = [
  {
    state: "25006",
    name: "the session began while the database was read-only",
    cause: (sql, { url }) =>
      Effect.gen(function* () {
        yield* asOperator(
          url,
          "create table kept (n integer)",
          "alter database postgres set default_transaction_read_only = on"
        )
        yield* sql`select pg_terminate_backend(pg_backend_pid())`.pipe(Effect.exit)
        const exit = yield* Effect.exit(sql.withTransaction(sql`insert into kept values (1)`))
        yield* asOperator(
          url,
          "set default_transaction_read_only = off",
          "alter database postgres reset default_transaction_read_only"
        )
        return yield* exit
      })
  },
  {
    state: undefined,
    name: "57P01: an operator ended the session",
    cause: (sql, { url }) =>
      whileSleeping(
        sql,
        asOperator(
          url,
          "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep%' and pid <> pg_backend_pid()"
        )
      )
  },
  {
    state: undefined,
    name: "57P02: a process of the server crashed, so the server ended all sessions",
    cause: (sql, server) =>
      whileSleeping(
        sql,
        Effect.gen(function* () {
          for (const pid of yield* server.pids) if (isWalWriter(pid)) process.kill(pid, "SIGKILL")
        })
      )
  },
  {
    state: "57P03",
    name: "the server was shutting down",
    cause: (sql, server) =>
      Effect.gen(function* () {
        const holder = spawn("psql", [Redacted.value(server.url), "-c", "select pg_sleep(20)"], { stdio: "ignore" })
        yield* Effect.sleep("300 millis")
        const [postmaster = 0] = yield* server.pids
        // A smart shutdown waits for the sessions and takes no new ones.
        process.kill(postmaster, "SIGTERM")
        yield* Effect.exit(sql`select pg_terminate_backend(pg_backend_pid())`)
        const exit = yield* Effect.exit(sql`select 1`)
        holder.kill()
        yield* Effect.ignoreCause(server.stop("fast"))
        yield* server.start
        return yield* exit
      })
  },
  {
    state: "42P01",
    name: "the session began with another search path",
    cause: (sql, { url }) =>
      Effect.gen(function* () {
        yield* asOperator(url, "create table kept (n integer)", "alter database postgres set search_path = nowhere")
        yield* Effect.exit(sql`select pg_terminate_backend(pg_backend_pid())`)
        const exit = yield* Effect.exit(sql`select n from kept`)
        yield* asOperator(url, "alter database postgres reset search_path")
        return yield* exit
      })
  },
  {
    state: "42883",
    name: "the session did not find a function",
    cause: (sql) => sql`select ledger_nowhere()`
  },
  {
    state: "25P02",
    name: "the session was left in a failed transaction",
    cause: (sql) =>
      Effect.gen(function* () {
        yield* sql`begin`
        yield* Effect.exit(sql`select 1 / 0`)
        yield* sql`select 1`
      })
  },
  {
    state: "26000",
    name: "the server had lost a prepared statement",
    cause: (sql) =>
      Effect.gen(function* () {
        const { name } = yield* prepared(sql)
        yield* sql.unsafe(`deallocate ${name}`)
        yield* sql.unsafe(`execute ${name}(1)`)
      })
  },
  {
    state: "42P05",
    name: "the server had a prepared statement of that name",
    cause: (sql) =>
      Effect.gen(function* () {
        const { name } = yield* prepared(sql)
        const next = name.replace(/\d+$/, (number) => `${Number(number) + 20}`)
        for (let n = 0; n < 20; n++)
          yield* sql.unsafe(`prepare ${next.replace(/\d+$/, (it) => `${Number(it) + n}`)} as select 1`)
        for (let n = 0; n < 60; n++) yield* Effect.repeat(sql.unsafe(`select ${n} as other`), { times: 1 })
      })
  },
  {
    state: "08P01",
    name: "the server had a prepared statement of that name with other parameters",
    cause: (sql) =>
      Effect.gen(function* () {
        const { name, statement } = yield* prepared(sql)
        yield* sql.unsafe(`deallocate ${name}`)
        yield* sql.unsafe(`prepare ${name} as select 1`)
        yield* statement
      })
  }
]

const codeOf = (exit: Exit.Exit<unknown, unknown>): unknown => {
  const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
  if (!SqlError.isSqlError(error)) return error
  const { cause } = error.reason
  return Predicate.hasProperty(cause, "code") ? cause.code : undefined
}

describeWithServers("a connection whose fault may stay serves no other statement, and the next one works", () => {
  for (const { cause, name, state } of faults) {
    it.live(
      `${state === undefined ? "" : `${state}: `}${name}`,
      () =>
        Effect.gen(function* () {
          const server = yield* postgresServer
          yield* Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            const before = yield* pidOf(sql)
            assert.strictEqual(codeOf(yield* Effect.exit(cause(sql, server))), state)
            // A server that crashed recovers first.
            const after = Effect.retry(pidOf(sql), { times: 100, schedule: Schedule.spaced("100 millis") })
            assert.notStrictEqual(yield* after, before)
            const write = sql`create table if not exists written (n integer)`
            yield* Effect.retry(sql.withTransaction(write), { times: 3 })
            const left = yield* sql`select state from pg_stat_activity where state like 'idle in transaction%'`
            assert.deepStrictEqual(left, [])
          }).pipe(Effect.provide(Postgres.layer({ url: server.url, poolSize: 2 }), { local: true }))
        }),
      timeout
    )
  }
})

describeWithServers("faults that end leave nothing behind", () => {
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

it.live.skipIf(process.getuid?.() !== 0)(
  "a store that ended because its disk was full is opened again once there is room, with what was answered (needs root)",
  () =>
    Effect.gen(function* () {
      const disk = yield* smallDisk
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`create table kept (n integer, filler text)`
        const write = (n: number) =>
          sql.withTransaction(sql`insert into kept values (${n}::integer, repeat(md5(random()::text), 2000))`)
        yield* write(0)
        const filler = join(disk, "filler")
        execFileSync("sh", ["-c", `dd if=/dev/zero of=${filler} bs=4k 2>/dev/null || true`])
        let answered = 0
        while (Exit.isSuccess(yield* Effect.exit(write(answered + 1)))) answered++
        rmSync(filler)
        yield* Effect.retry(write(answered + 1), { times: 100, schedule: Schedule.spaced("100 millis") })
        const [row] = yield* sql<{ readonly n: number }>`select count(distinct n)::integer as n from kept`
        assert.strictEqual(row?.n, answered + 2)
      }).pipe(Effect.provide(Pglite.layer({ dataDir: join(disk, "store") }), { local: true }))
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
