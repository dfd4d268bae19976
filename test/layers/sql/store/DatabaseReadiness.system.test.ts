import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as DatabaseReadiness from "../../../../src/layers/sql/store/DatabaseReadiness.ts"
import * as Postgres from "../../../../src/layers/sql/store/Postgres.ts"
import { Readiness } from "../../../../src/services/operations/Readiness.ts"
import {
  describeWithServers,
  postgresServer,
  postgresServerWith,
  proxy
} from "../../../support/servers/PostgresServer.ts"

/** The checks over a server, and a connection of the test's own. */
const checking = (url: Redacted.Redacted) =>
  DatabaseReadiness.layer.pipe(
    Layer.provideMerge(Postgres.layer({ url, poolSize: 4 })),
    Layer.provideMerge(Readiness.layer)
  )

/** The results of the checks now: an older result is not taken. */
const results = Effect.gen(function* () {
  yield* TestClock.adjust("6 seconds")
  return (yield* Effect.flatMap(Readiness, ({ full }) => full)).checks
})

const ok = { database_read: "ok", database_write: "ok" } as const
const cannotWrite = { database_read: "ok", database_write: "failed" } as const

/** A small file system of the test's own. It takes root. */
const smallDisk = Effect.acquireRelease(
  Effect.sync(() => {
    const directory = mkdtempSync(join(tmpdir(), "quarry-disk-"))
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=160m,mode=777", "tmpfs", directory])
    return directory
  }),
  (directory) =>
    Effect.sync(() => {
      execFileSync("umount", ["--lazy", directory])
      rmSync(directory, { recursive: true })
    })
)

const canMount = process.getuid?.() === 0

/** Where the servers of this effect have their files. */
const withFilesIn = <A, E, R>(directory: string, effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const before = process.env.TMPDIR
    process.env.TMPDIR = directory
    return Effect.ensuring(
      effect,
      Effect.sync(() => {
        if (before === undefined) delete process.env.TMPDIR
        else process.env.TMPDIR = before
      })
    )
  })

/** Writes until there is no room. */
const fill = (path: string): void => {
  try {
    execFileSync("dd", ["if=/dev/zero", `of=${path}`, "bs=4k"], { stdio: "ignore" })
  } catch {
    // There is no room left, as it should be.
  }
}

describeWithServers("DatabaseReadiness on Postgres", () => {
  it.effect("R54: a database that was made read-only reads, and does not write", () =>
    Effect.gen(function* () {
      const server = yield* postgresServer
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        assert.deepStrictEqual(yield* results, ok)
        yield* sql`alter system set default_transaction_read_only = on`
        yield* sql`select pg_reload_conf()`
        yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 500)))
        assert.deepStrictEqual(yield* results, cannotWrite)
      }).pipe(Effect.provide(checking(server.url)))
    })
  )

  it.effect("R54: a session that began while the database was read-only does not outlive that", () =>
    Effect.gen(function* () {
      const server = yield* postgresServer
      const asOperator = (...statements: ReadonlyArray<string>) =>
        Effect.flatMap(SqlClient.SqlClient, (sql) =>
          Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
        ).pipe(Effect.provide(Postgres.layer({ url: server.url, poolSize: 1 }), { local: true }))
      yield* asOperator("alter database postgres set default_transaction_read_only = on")
      yield* Effect.gen(function* () {
        assert.deepStrictEqual(yield* results, cannotWrite)
        yield* asOperator(
          "set default_transaction_read_only = off",
          "alter database postgres reset default_transaction_read_only"
        )
        assert.deepStrictEqual(yield* results, ok)
      }).pipe(Effect.provide(checking(server.url)))
    })
  )

  it.effect("R54: a standby reads, and writes once it is promoted", () =>
    Effect.gen(function* () {
      const server = yield* postgresServer
      const standby = yield* server.standby
      const address = yield* proxy(standby.port)
      yield* Effect.gen(function* () {
        assert.deepStrictEqual(yield* results, cannotWrite)
        yield* standby.promote
        assert.deepStrictEqual(yield* results, ok)
      }).pipe(Effect.provide(checking(address.url)))
    })
  )

  it.live("R54: a commit that waits for an unreachable standby is not a write", () =>
    Effect.gen(function* () {
      const server = yield* postgresServerWith({ synchronous_standby_names: "away" })
      yield* Effect.gen(function* () {
        const { full } = yield* Readiness
        const sql = yield* SqlClient.SqlClient
        assert.deepStrictEqual((yield* full).checks, { database_read: "ok", database_write: "timeout" })
        yield* sql`alter system set synchronous_standby_names = ''`
        yield* sql`select pg_reload_conf()`
      }).pipe(Effect.provide(checking(server.url)))
    })
  )

  it.effect.skipIf(!canMount)("R54: a full disk fails the write and not the read (needs root)", () =>
    Effect.gen(function* () {
      const disk = yield* smallDisk
      const server = yield* withFilesIn(disk, postgresServer)
      yield* Effect.gen(function* () {
        assert.deepStrictEqual(yield* results, ok)
        const filler = join(disk, "filler")
        fill(filler)
        assert.deepStrictEqual(yield* results, cannotWrite)
        rmSync(filler)
        assert.deepStrictEqual(yield* results, ok)
      }).pipe(Effect.provide(checking(server.url)))
    })
  )
})
