import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Cause, ConfigProvider, Context, Effect, Exit, Redacted, Sink, Stdio } from "effect"
import type { Command } from "effect/cli"
import { SqlClient } from "effect/sql"
import { TestConsole } from "effect/testing"
import { Writes } from "../../src/cli/effects.ts"
import { codeOf } from "../../src/cli/exit.ts"
import * as Quarry from "../../src/cli/Quarry.ts"
import { exportAccount } from "../../src/http/handlers/exportAccount.ts"
import * as Postgres from "../../src/layers/sql/store/Postgres.ts"
import * as Commands from "../../src/process/Commands.ts"
import { explain } from "../../src/process/lifecycle/explain.ts"
import { Ledger } from "../../src/services/credits/Ledger.ts"
import { makeAccount, makeRecord } from "../support/api/searches.ts"
import { freePort, spawned } from "../support/processes/Spawned.ts"
import { emptyDatabase } from "../support/stores/Database.ts"
import { describeWithPostgres } from "../support/stores/Postgres.ts"
import * as SqlStorage from "../support/stores/SqlStorage.ts"

const timeout = 240_000

const layers = { ...Commands.layers, exportAccount }

interface Leaf {
  readonly path: string
  readonly writes: Context.Service.Shape<typeof Writes>
}

/** The commands that do something, with what they say they write. */
const leavesOf = (command: Command.Command.Any, path: ReadonlyArray<string> = []): ReadonlyArray<Leaf> => {
  const below = command.subcommands.flatMap(({ commands }) => commands)
  return below.length === 0
    ? [{ path: path.join(" "), writes: Context.get(command.annotations, Writes) }]
    : below.flatMap((child) => leavesOf(child, [...path, child.name]))
}

const leaves = leavesOf(Quarry.commands(layers))

/** The arguments of each command that writes no more than the audit, for an account's id. */
const argumentsOf = (id: string): Readonly<Record<string, string>> => ({
  status: "",
  "account show": `--id ${id}`,
  "account list": "",
  "account search": "example",
  "account events": `--id ${id}`,
  "account usage": `--id ${id} --from 2026-01-01 --granularity month --group-by key`,
  "account export": `--id ${id}`,
  "key list": "--all",
  "member list": `--account ${id}`,
  "operator list": "",
  "audit list": "",
  "index stats": "",
  "webhooks list": `--account ${id}`,
  "billing check": "",
  "billing show": `--account ${id}`,
  "holds list": "",
  "query show": "--id qry_old1",
  "batch show": "--id bat_none",
  "request show": "--id 0b9f6c1e-8d6f-4c7e-9b58-2f6d7a1c3e55",
  "usage top": "--from 2020-01-01",
  "secrets status": "",
  "providers check": "",
  "providers paused": "",
  "providers try": "meta --query css",
  "retention show": "",
  backup: "",
  config: ""
})

/** There is no payment provider, no batch and no request to show. */
const expectedFailures = ["batch show", "billing check", "providers try", "request show"]

/** Commands that do not read the database, and `migrate`. They work on every schema. */
const worksOnAnySchema = ["status", "billing check", "config", "providers try"]

type Env = Readonly<Record<string, string>>

/** Runs a command line in this process, as `src/cli.ts` does. */
const quarry = (env: Env, line: string) =>
  Effect.exit(Quarry.make(layers)(line.split(" ").filter((word) => word !== ""))).pipe(
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(env))),
    Effect.provide([TestConsole.layer, NodeServices.layer, Stdio.layerTest({ stdout: () => Sink.drain })])
  )

const readers = leaves.filter(({ writes }) => writes === "nothing" || writes === "audit")

/** The rows of each table as a digest, and the schema. A table of `except` may change meanwhile. */
const contents = Effect.fnUntraced(function* (except: ReadonlyArray<string> = []) {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ readonly name: string }>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r' order by relname`
  const found: Record<string, unknown> = {}
  for (const { name } of tables) {
    if (except.includes(name.replace(/_\d{4}_\d{2}$/, ""))) continue
    const [row] = yield* sql`
      select count(*)::int as rows, md5(coalesce(string_agg(t::text, chr(10) order by t::text), '')) as digest
      from ${sql(name)} t`
    found[name] = row
  }
  const [schema] = yield* sql`
    select md5(string_agg(text, chr(10) order by text)) as schema from (
      select pg_get_functiondef(oid) as text from pg_proc
      where pronamespace = 'public'::regnamespace
      union all select table_name || column_name || data_type from information_schema.columns where table_schema = 'public'
      union all select indexdef from pg_indexes where schemaname = 'public'
    ) as t`
  const sequences = yield* sql`
    select sequencename, last_value from pg_sequences where schemaname = 'public' and not sequencename = any (
      ${except.flatMap((name) => [`${name}_id_seq`, `${name}_ordinal`])}::text[]) order by 1`
  return { ...found, schema, sequences }
})

const secrets = { KEY_PEPPER: SqlStorage.pepper, AUTH_SECRET: "an auth secret for tests of 32 characters or more" }

/** An account with a search in each of the last eight months. */
const anOldLog = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const account = yield* makeAccount({ plan: "growth" }, 5)
  const ledger = yield* Ledger
  yield* ledger.settle(yield* ledger.reserve(account, 1), [yield* makeRecord(account)])
  yield* sql`select queries_make_partitions(now() - interval '8 months', 9)`
  yield* sql`
    insert into queries (id, account_id, target, query, geo, locale, page, num, safe, source, outcome, credits, cached,
      result_count, duration_ms, created_at)
    select 'qry_old' || n, ${account.id}, 'alpha_search', 'old', 'us', 'en-us', 1, 10, 'off', 'api', 'ok', 0, false, 0, 1,
      now() - n * interval '1 month'
    from generate_series(1, 8) as n`
  return account.id
})

/** Makes what a server would see to: a period that has ended, a hold that has expired, months that are over. */
const neglect = (accountId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`
      update allowances set period_start = period_start - interval '3 months', period_end = now() - interval '2 months'
      where scope = ${accountId}`
    yield* sql`
      insert into holds select 'hld_expired', ${accountId}, id, 0, 0, now() - interval '1 hour' from allowances limit 1`
    yield* sql`update log_upkeep set retention_ms = 86400000`
  })

/** Tables that an idle server writes: it verifies the books when it has missed a night. */
const ofTheServer = [
  "replicas",
  "secret_holders",
  "ledger_verifications",
  "ledger_checkpoints",
  "ledger_months",
  "log_upkeep"
]

const atDatabase = (url: Redacted.Redacted) => SqlStorage.layer(Postgres.layer({ url, poolSize: 2 }))

/** Runs every reader and compares the database before and after each; the message of each that failed. */
const runAll = Effect.fnUntraced(function* (env: Env, accountId: string, except: ReadonlyArray<string> = []) {
  const all = argumentsOf(accountId)
  const failures: Record<string, string> = {}
  for (const { path, writes } of readers) {
    // The account sees what was audited (R68).
    const audit = writes === "audit" ? ["audit_entries", "account_events"] : []
    const before = yield* contents([...except, ...audit])
    const exit = yield* quarry(env, `${path} ${all[path] ?? assert.fail(`no arguments of "${path}" are known`)}`)
    assert.deepStrictEqual(yield* contents([...except, ...audit]), before, `"${path}" changed the database`)
    if (Exit.isFailure(exit)) {
      assert.strictEqual(codeOf(exit), 1, `${path}: ${Cause.pretty(exit.cause)}`)
      failures[path] = explain(exit.cause) ?? Cause.pretty(exit.cause)
    }
  }
  return failures
})

describe("the commands of the operator", () => {
  it("say what they write to the database", () => {
    assert.deepStrictEqual(
      leaves.filter(({ writes }) => writes === undefined).map(({ path }) => path),
      []
    )
  })
})

describeWithPostgres("commands that only read", () => {
  it.live(
    "R74: change nothing beside a running server, whose retention is longer than the shell's",
    () =>
      Effect.gen(function* () {
        const { url } = yield* emptyDatabase
        const env = { DATABASE_URL: Redacted.value(url), ...secrets }
        yield* Effect.gen(function* () {
          const id = yield* anOldLog
          const retention = { QUERY_LOG_RETENTION: "3650 days", PORT: `${yield* freePort}`, LOG_FORMAT: "json" }
          const server = yield* spawned("src/main.ts", [], { ...env, ...retention })
          yield* server.said("Quarry listens at ")
          assert.deepStrictEqual(Object.keys(yield* runAll(env, id, ofTheServer)).sort(), expectedFailures)
        }).pipe(Effect.provide(atDatabase(url), { local: true }))
      }),
    timeout
  )

  it.live(
    "R74: leave to the server what it has not seen to: old months, expired holds, periods that have ended",
    () =>
      Effect.gen(function* () {
        const { url } = yield* emptyDatabase
        const env = { DATABASE_URL: Redacted.value(url), ...secrets, QUERY_LOG_RETENTION: "1 day" }
        yield* Effect.gen(function* () {
          const id = yield* anOldLog
          // From here on the database knows the secrets, as it does after a server's first start.
          assert.isTrue(Exit.isSuccess(yield* quarry(env, `account resume --id ${id}`)))
          yield* neglect(id)
          assert.deepStrictEqual(Object.keys(yield* runAll(env, id)).sort(), [...expectedFailures, "status"])
        }).pipe(Effect.provide(atDatabase(url), { local: true }))
      }),
    timeout
  )

  it.live.each([
    ["an older", "delete from quarry_migrations where migration_id > 1", /lacks migrations/],
    [
      "a newer",
      "insert into quarry_migrations (migration_id, name) values (9999, 'newer')",
      /does not know \(9999_newer\)/
    ]
  ] as const)(
    "R74: leave %s schema as it is, and say in one sentence what to do",
    ([kind, change, refusal]) =>
      Effect.gen(function* () {
        const { url } = yield* emptyDatabase
        const env = { DATABASE_URL: Redacted.value(url), ...secrets }
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const id = yield* anOldLog
          yield* sql.unsafe(change)
          const failures = yield* runAll(env, id)
          for (const { path } of readers) {
            if (worksOnAnySchema.includes(path)) continue
            // What only looks at searches and holds works on a newer schema, during a roll-out.
            if (kind === "a newer" && /^(holds|query|batch|request|usage) /.test(path)) continue
            const message = failures[path] ?? assert.fail(`${path} works on ${kind} schema`)
            assert.match(message, refusal, path)
            assert.match(message, /^[^\n]*: run [^.\n]*\.$/, path)
          }
          const changing = yield* quarry(env, "account create --email a@example.org")
          assert.match(JSON.stringify(changing), refusal)
        }).pipe(Effect.provide(atDatabase(url), { local: true }))
      }),
    timeout
  )
})
