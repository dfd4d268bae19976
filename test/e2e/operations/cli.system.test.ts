import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { command } from "../../support/processes/Command.ts"
import { spawned, temporaryDirectory } from "../../support/processes/Spawned.ts"
import { emptyDatabase } from "../../support/stores/Database.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

/** Every command is a process that opens the embedded database: a second each, and many where others work too. */
const timeout = 600_000

/** Runs the CLI to its end. */
const quarry = (env: Record<string, string>, ...args: ReadonlyArray<string>) =>
  Effect.flatMap(spawned("src/cli.ts", args, env), ({ ended }) => ended)

/** The one object that a command prints with `--json`. Most run in this process; `quarry` starts one. */
const json = (env: Record<string, string>, ...args: ReadonlyArray<string>) =>
  Effect.map(command(env, ...args, "--json"), ({ code, stderr, stdout }) => {
    assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" }, args.join(" "))
    assert.match(stdout, /^\{[^\n]*\}\n$/)
    return JSON.parse(stdout)
  })

const secrets = { AUTH_SECRET: "a".repeat(32), KEY_PEPPER: "k".repeat(32) }

/** The settings of a new database with the schema. On it a command takes half as long as on the embedded store. */
const postgres = emptyDatabase.pipe(
  Effect.map(({ url }) => ({ DATABASE_URL: Redacted.value(url), ...secrets })),
  Effect.tap((env) => json(env, "migrate"))
)

describe("quarry on the embedded store", () => {
  it.live(
    "makes an account, gives it credits, fills the index, and its ledger adds up",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const env = { DATA_DIR: join(directory, "store") }
        const file = join(directory, "pages.jsonl")
        const page = { url: "https://example.org/", title: "Example", description: "An example page" }
        yield* Effect.promise(() => writeFile(file, `${JSON.stringify(page)}\n`))

        assert.include((yield* json(env, "migrate")).applied, "initial")
        const created = yield* json(env, "account", "create", "--email", "Ops@Example.org", "--plan", "starter")
        assert.strictEqual(created.email, "ops@example.org")
        const id = created.account_id
        assert.deepStrictEqual(yield* json(env, "account", "grant", "--id", id, "--credits", "7", "--reason", "test"), {
          balance: 7
        })
        const shown = yield* json(env, "account", "show", "--email", "ops@example.ORG")
        assert.deepStrictEqual([shown.account_id, shown.balance, shown.plan], [id, 7, "starter"])

        assert.deepStrictEqual(yield* json(env, "index", "load", file, "--target", "beta_search"), {
          loaded: 1,
          removed: 0,
          failed: 0,
          problems: []
        })
        assert.deepStrictEqual(yield* json(env, "index", "stats"), { documents: 1, by_target: { beta_search: 1 } })
        assert.deepStrictEqual(yield* json(env, "index", "clear"), { removed: 1 })
        assert.deepStrictEqual(yield* json(env, "ledger", "verify"), { ok: true, discrepancies: [] })
        assert.deepStrictEqual(yield* json(env, "migrate"), { applied: [] })
      }),
    timeout
  )

  it.live(
    "a refusal is exit 1 with one line, a mistyped command exit 2; with --json each prints one object",
    () =>
      Effect.gen(function* () {
        const env = { DATA_DIR: join(yield* temporaryDirectory, "store") }
        const early = yield* quarry(env, "account", "show", "--id", "acc_none")
        assert.match(early.stderr, /^quarry: DATA_DIR \S+ has no store yet: [^\n]* migrate`\.\n$/)
        assert.isFalse(existsSync(env.DATA_DIR))
        yield* json(env, "migrate")
        const refused = yield* quarry(env, "account", "show", "--id", "acc_none", "--json")
        assert.deepStrictEqual([refused.code, JSON.parse(refused.stdout).error], [1, "not_found"])
        assert.match(refused.stderr, /^quarry: [^\n]*acc_none[^\n]*\n$/)
        const mistyped = yield* quarry(env, "account", "shwo", "--json")
        assert.deepStrictEqual([mistyped.code, JSON.parse(mistyped.stdout).error], [2, "usage"])
        assert.match(mistyped.stderr, /shwo/)
      }),
    timeout
  )

  it.effect.skipIf(!existsSync("/dev/full"))(
    "a result that a full disk rejects is exit 1 with one line; a closed pipe is not a failure",
    () =>
      Effect.sync(() => {
        const shell = (line: string) =>
          spawnSync("bash", ["--norc", "-c", line], { encoding: "utf8", env: { PATH: process.env.PATH } })
        const full = shell("bin/quarry config > /dev/full")
        assert.strictEqual(full.status, 1)
        assert.match(full.stderr, /^quarry: stdout cannot be written \(ENOSPC[^\n]*\n$/)
        const left = shell("set -o pipefail; (sleep 1; bin/quarry config) | true")
        assert.deepStrictEqual([left.status, left.stderr], [0, ""])
      }),
    timeout
  )

  it.live("a database that is down is one line without the password", () =>
    Effect.gen(function* () {
      const DATABASE_URL = "postgres://quarry:hunter2@127.0.0.1:1/quarry"
      const { code, stderr } = yield* quarry({ DATABASE_URL, ...secrets }, "index", "stats")
      assert.strictEqual(code, 1)
      assert.match(stderr, /^quarry: The database cannot be reached \([^\n]*127\.0\.0\.1:1\)[^\n]*\n$/)
      assert.notInclude(stderr, "hunter2")
    })
  )
})

describeWithPostgres("quarry on Postgres", () => {
  it.live(
    "changes of accounts are made and recorded, and what a person is given works",
    () =>
      Effect.gen(function* () {
        const env = { ...(yield* postgres), BASE_URL: "https://quarry.test", QUARRY_OPERATOR: "ada" }
        const { account_id: id } = yield* json(env, "account", "create", "--email", "a@example.org", "--plan", "growth")
        const { secret } = yield* json(env, "key", "create", "--account", id, "--name", "ci")
        const order = ["--credits", "10", "--reason", "order", "--idempotency-key", "order-1"]
        for (let time = 0; time < 2; time++) {
          assert.deepStrictEqual(yield* json(env, "account", "grant", "--id", id, ...order), { balance: 10 })
        }
        const adjusted = yield* json(env, "account", "adjust", "--id", id, "--credits", "-3", "--reason", "too many")
        assert.strictEqual(adjusted.balance, 7)
        assert.isNotNull((yield* json(env, "account", "suspend", "--id", id, "--reason", "abuse")).suspended_at)
        assert.lengthOf((yield* json(env, "account", "list", "--suspended")).accounts, 1)
        assert.isNull((yield* json(env, "account", "resume", "--id", id, "--by", "grace")).suspended_at)
        const { link } = yield* json(env, "account", "sign-in-link", "--id", id)
        assert.match(link, /^https:\/\/quarry\.test\/oauth\/confirm\?token=[0-9a-f]{32}$/)
        assert.strictEqual(
          (yield* json(env, "account", "set-email", "--id", id, "--email", "b@example.org")).email,
          "b@example.org"
        )
        assert.strictEqual((yield* json(env, "account", "search", "B@EXAMPLE")).accounts[0].account_id, id)
        assert.strictEqual((yield* json(env, "account", "usage", "--id", id)).totals.searches, 0)
        const exported = yield* json(env, "account", "export", "--id", id)
        assert.deepStrictEqual(
          [exported.account.email, exported.api_keys.length, exported.queries],
          ["b@example.org", 1, []]
        )
        assert.strictEqual((yield* json(env, "sessions", "end", "--account", id)).ended, 0)
        assert.lengthOf((yield* json(env, "key", "revoke", "--all", "--account", id, "--yes")).keys, 1)
        assert.deepStrictEqual(yield* json(env, "account", "delete", "--id", id, "--yes"), {
          account_id: id,
          deleted: true
        })

        const { entries } = yield* json(env, "audit", "list", "--subject", id)
        assert.deepStrictEqual(
          entries.map((entry: { operator: string; command: string }) => `${entry.operator}: ${entry.command}`),
          [
            "ada: account delete",
            "ada: key revoke --all",
            "ada: sessions end",
            "ada: account export",
            "ada: account set-email",
            "ada: account sign-in-link",
            "grace: account resume",
            "ada: account suspend",
            "ada: account adjust",
            "ada: account grant",
            "ada: account grant",
            "ada: account create"
          ]
        )
        const all = JSON.stringify(yield* json(env, "audit", "list"))
        for (const kept of [secret, link.split("=")[1], "example.org"]) assert.notInclude(all, kept)
        assert.deepStrictEqual(yield* json(env, "ledger", "verify"), { ok: true, discrepancies: [] })
      }),
    timeout
  )
})
