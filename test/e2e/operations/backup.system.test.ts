import { execFile } from "node:child_process"
import { statSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { spawned, startServer, temporaryDirectory } from "../../support/processes/Spawned.ts"
import { emptyDatabase } from "../../support/stores/Database.ts"
import * as EmbeddedStore from "../../support/stores/EmbeddedStore.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

const timeout = 240_000
const execute = promisify(execFile)

/** Runs the script of the book. */
const backup = (env: Record<string, string>, ...args: ReadonlyArray<string>) =>
  Effect.promise(() =>
    execute(process.execPath, ["scripts/backup.ts", ...args], { env: { PATH: process.env.PATH, ...env } }).then(
      ({ stderr, stdout }) => ({ code: 0, stdout, stderr }),
      (error: { readonly code: number; readonly stdout: string; readonly stderr: string }) => error
    )
  )

const search = (url: string, key: string) =>
  Effect.promise(async () => {
    const headers = { authorization: `Bearer ${key}` }
    return (await fetch(`${url}/v1/query?query=http+caching`, { headers })).status
  })

describe("the backup of an embedded store", () => {
  it.live(
    "is refused while a server has it open, holds all that is needed, and serves its keys where it is restored",
    () =>
      Effect.gen(function* () {
        const dataDir = yield* EmbeddedStore.directory
        const directory = yield* temporaryDirectory
        const copy = join(directory, "copy")
        const restored = join(directory, "restored")
        const first = yield* startServer({ DATA_DIR: dataDir })
        const announced = yield* first.server.said("sk_live_")
        const [key = ""] = /sk_live_\w+/.exec(announced) ?? []
        assert.strictEqual(yield* search(first.origin, key), 200)

        const busy = yield* backup({ DATA_DIR: dataDir }, "take", copy)
        assert.strictEqual(busy.code, 1)
        assert.match(busy.stderr, /^The data directory [^\n]* is in use by process \d+\. [^\n]*\n$/)
        first.server.kill("SIGTERM")
        yield* first.server.ended

        assert.strictEqual((yield* backup({ DATA_DIR: dataDir }, "take", copy)).code, 0)
        assert.strictEqual(statSync(copy).mode & 0o077, 0)
        assert.strictEqual((yield* backup({ DATA_DIR: restored }, "restore", copy)).code, 0)
        const verified = yield* Effect.flatMap(
          spawned("src/cli.ts", ["ledger", "verify", "--json"], { DATA_DIR: restored }),
          ({ ended }) => ended
        )
        assert.deepStrictEqual(JSON.parse(verified.stdout), { ok: true, discrepancies: [] })
        const second = yield* startServer({ DATA_DIR: restored })
        assert.strictEqual(yield* search(second.origin, key), 200)
      }),
    timeout
  )

  it.live("is never written over another one, nor restored over a store", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const copy = join(directory, "copy")
      yield* Effect.promise(() => mkdir(copy))
      const env = { DATA_DIR: directory }
      const refusals = [
        yield* backup(env, "take", copy),
        yield* backup(env, "take", join(directory, "new")),
        yield* backup(env, "restore", copy),
        yield* backup(env, "restore", join(directory, "none"))
      ]
      assert.deepStrictEqual(
        refusals.map(({ code, stderr }) => [code, stderr.replaceAll(directory, "DIR")]),
        [
          [1, "DIR/copy exists. A backup is never written over another one.\n"],
          [1, "There is no store in DATA_DIR DIR.\n"],
          [1, "DATA_DIR DIR exists. Move it away first.\n"],
          [1, "There is no DIR/none.\n"]
        ]
      )
      assert.strictEqual((yield* backup(env, "list")).code, 2)
    })
  )
})

describeWithPostgres("the backup of a Postgres database", () => {
  it.live("is restored into an empty database only, and a failure shows no password", () =>
    Effect.gen(function* () {
      const { url } = yield* emptyDatabase
      const path = join(yield* temporaryDirectory, "backup")
      const env = { DATABASE_URL: Redacted.value(url) }
      yield* Effect.flatMap(
        spawned("src/cli.ts", ["migrate"], {
          ...env,
          AUTH_SECRET: "a".repeat(32),
          KEY_PEPPER: "k".repeat(32)
        }),
        ({ ended }) => ended
      )
      assert.strictEqual((yield* backup(env, "take", path)).code, 0)
      const full = yield* backup(env, "restore", path)
      assert.deepStrictEqual(
        [full.code, full.stderr],
        [1, "The database in DATABASE_URL is not empty. Make another one with createdb.\n"]
      )
      yield* Effect.promise(() => writeFile(`${path}.cut`, "PGDMP"))
      const { url: empty } = yield* emptyDatabase
      const cut = yield* backup({ DATABASE_URL: Redacted.value(empty) }, "restore", `${path}.cut`)
      assert.strictEqual(cut.code, 1)
      assert.match(cut.stderr, /^pg_restore failed: /)
      const down = yield* backup({ DATABASE_URL: "postgres://u:hunter2@127.0.0.1:1/x" }, "take", `${path}.down`)
      assert.strictEqual(down.code, 1)
      assert.match(down.stderr, /^pg_dump failed: /)
      assert.notInclude(down.stderr, "hunter2")
    })
  )
})
