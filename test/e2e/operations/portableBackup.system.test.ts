import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { temporaryDirectory } from "../../support/processes/Spawned.ts"
import { emptyDatabase } from "../../support/stores/Database.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

const timeout = 300_000

const secrets = { KEY_PEPPER: "pepper-hunter2-".repeat(3), AUTH_SECRET: "secret-hunter2-".repeat(3) }

/** Runs a command of the operator to its end. */
const quarry = (args: ReadonlyArray<string>, env: Record<string, string>, input = Buffer.alloc(0)) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, ["src/cli.ts", ...args], {
    env: { PATH: process.env.PATH, ...secrets, ...env },
    input,
    maxBuffer: 64 * 1024 * 1024
  })
  return { code: status, stderr: stderr.toString(), stdout }
}

describeWithPostgres("quarry backup and quarry restore", () => {
  it.live(
    "carry a store from Postgres through a pipe into an embedded store, with its keys, and tell no secret",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const { url } = yield* emptyDatabase
        const postgres = { DATABASE_URL: Redacted.value(url) }
        const embedded = { DATA_DIR: join(directory, "store") }
        quarry(["migrate"], postgres)
        const [, key = ""] =
          /"key":"(sk_live_\w+)"/.exec(
            quarry(
              ["account", "create", "--email", "a@example.com", "--plan", "growth", "--json"],
              postgres
            ).stdout.toString()
          ) ?? []

        const taken = quarry(["backup"], postgres)
        assert.deepStrictEqual([taken.code, taken.stderr.startsWith("Backup complete: ")], [0, true], taken.stderr)
        const checked = quarry(["restore", "--check", "--json"], embedded, taken.stdout)
        assert.include(JSON.parse(checked.stdout.toString()), { restored: false }, checked.stderr)

        const restored = quarry(["restore", "--json"], embedded, taken.stdout)
        assert.strictEqual(restored.code, 0, restored.stderr)
        assert.include(JSON.parse(restored.stdout.toString()), { restored: true })
        const listed = quarry(["account", "list", "--json"], embedded)
        assert.include(listed.stdout.toString(), "a@example.com", listed.stderr)

        const again = quarry(["restore"], embedded, taken.stdout)
        assert.strictEqual(again.code, 1)
        assert.include(again.stderr, "The store holds data.")

        const all = [taken, checked, restored, again].map(({ stderr }) => stderr).join("")
        for (const secret of ["hunter2", key].filter((it) => it !== "")) assert.notInclude(all, secret)
        assert.notInclude(taken.stdout.toString("latin1"), "hunter2")
      }),
    timeout
  )

  it.live(
    "write a file that its owner alone reads, and never over another one",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const { url } = yield* emptyDatabase
        const postgres = { DATABASE_URL: Redacted.value(url) }
        const file = join(directory, "a.backup")
        const empty = quarry(["backup", file], postgres)
        assert.strictEqual(
          empty.stderr,
          "quarry: The database is empty: start the server, or run `npm run quarry -- migrate`.\n"
        )
        assert.isFalse(existsSync(file))

        assert.strictEqual(quarry(["migrate"], postgres).code, 0)
        const taken = quarry(["backup", file, "--json"], postgres)
        assert.include(JSON.parse(taken.stdout.toString()), { file }, taken.stderr)
        assert.strictEqual(statSync(file).mode & 0o777, 0o600)
        assert.isFalse(existsSync(`${file}.unfinished`))
        const bytes = readFileSync(file)
        const again = quarry(["backup", file], postgres)
        assert.deepStrictEqual(
          [again.code, again.stderr],
          [1, `quarry: ${file} already exists, and backups never overwrite a file. Choose another name.\n`]
        )
        assert.deepStrictEqual(readFileSync(file), bytes)

        const cut = quarry(["restore", "--check"], postgres, bytes.subarray(0, bytes.length - 20))
        assert.strictEqual(cut.code, 1)
        assert.match(cut.stderr, /^quarry: The backup /)
      }),
    timeout
  )
})
