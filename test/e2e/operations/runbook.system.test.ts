import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Postgres from "../../../src/layers/sql/store/Postgres.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { makeAccount, makeRecords } from "../../support/api/searches.ts"
import { command } from "../../support/processes/Command.ts"
import { freshDatabase } from "../../support/stores/Database.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"

const timeout = 180_000

/** A change by hand for each kind of drift, and the command of the runbook that mends it. */
const drifts = [
  {
    what: "credits used of the quota",
    damage: (id: string) => `update allowances set used = used + 3 where scope = '${id}'`,
    command: ["repair", "--keep", "entries"]
  },
  {
    what: "credits used of the quota",
    damage: (id: string) => `update allowances set used = 0 where scope = '${id}'`,
    command: ["repair", "--keep", "figures"]
  },
  {
    what: "pack balance",
    damage: (id: string) => `update wallets set balance = balance + 100 where account_id = '${id}'`,
    command: ["repair", "--keep", "entries"]
  },
  {
    what: "pack balance",
    damage: (id: string) => `update wallets set balance = 0 where account_id = '${id}'`,
    command: ["repair", "--keep", "figures"]
  },
  {
    what: "pack balance",
    damage: (id: string) => `delete from wallets where account_id = '${id}'`,
    command: ["repair", "--keep", "entries"]
  },
  {
    what: "credits in the query log",
    damage: (id: string) => `delete from queries where account_id = '${id}'`,
    command: ["repair", "--keep", "entries"]
  },
  {
    what: "credits in the query log",
    damage: (id: string) => `update queries set credits = 9 where account_id = '${id}'`,
    command: ["repair", "--keep", "figures"]
  },
  {
    what: "credits used beyond the quota",
    damage: (id: string) => `
      do $$ begin
        alter table allowances drop constraint allowances_within_quota;
        update allowances set used = used + 100 where scope = '${id}';
        update allowances set quota = used - 40 where scope = '${id}';
        alter table ledger_entries disable trigger ledger_entries_append_only;
        insert into ledger_entries (account_id, allowance_id, kind, quota_credits, balance_credits, cause)
          select '${id}', id, 'search', 100, 0, 'by hand' from allowances where scope = '${id}';
        alter table ledger_entries enable trigger ledger_entries_append_only;
        insert into queries (id, hold_id, account_id, target, query, geo, locale, page, num, safe, source, outcome,
          credits, cached, result_count, duration_ms)
          values ('qry_by_hand', 'by hand', '${id}', 'alpha_search', 'q', 'us', 'en-us', 1, 10, 'off', 'api', 'ok',
            100, false, 0, 1);
      end $$`,
    command: ["adjust", "--credits", "40", "--to", "quota"]
  }
] as const

describeWithPostgres("the runbook of QuarryLedgerDrift", () => {
  describe("followed by an operator", () => {
    it.live(
      "mends each kind of drift, by entries with the reason and the name",
      () =>
        Effect.gen(function* () {
          const { url } = yield* freshDatabase
          const database = Postgres.layer({ url, poolSize: 2 })
          const env = {
            DATABASE_URL: Redacted.value(url),
            KEY_PEPPER: SqlStorage.pepper,
            AUTH_SECRET: "a secret for tests with 32 characters or more"
          }
          const quarry = (...args: ReadonlyArray<string>) => command(env, ...args, "--json")
          const ids = yield* Effect.forEach(drifts, () =>
            Effect.gen(function* () {
              const account = yield* makeAccount({ plan: "custom", quota: 50 }, 5)
              const ledger = yield* Ledger
              yield* ledger.settle(yield* ledger.reserve(account, 4), yield* makeRecords(account, 4))
              return account.id
            })
          ).pipe(Effect.provide(SqlStorage.layer(database), { local: true }))
          const statement = (text: string) =>
            Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(text)).pipe(
              Effect.provide(database, { local: true })
            )
          for (const [index, { damage }] of drifts.entries()) yield* statement(damage(ids[index] ?? ""))

          const verified = yield* quarry("ledger", "verify")
          assert.strictEqual(verified.code, 1)
          const { discrepancies } = JSON.parse(verified.stdout)
          for (const [index, { what }] of drifts.entries()) {
            const found = discrepancies.filter((it: { readonly account_id: string }) => it.account_id === ids[index])
            assert.deepStrictEqual([found.length, found[0]?.what], [1, what])
          }
          for (const [index, { command }] of drifts.entries()) {
            const [name, ...flags] = command
            const id = ids[index] ?? ""
            const { code, stderr } = yield* quarry(
              "ledger",
              name,
              "--account",
              id,
              ...flags,
              "--reason",
              "drill",
              "--by",
              "ann"
            )
            assert.deepStrictEqual([code, stderr], [0, ""])
          }
          const after = yield* quarry("ledger", "verify")
          assert.deepStrictEqual([after.code, JSON.parse(after.stdout)], [0, { ok: true, discrepancies: [] }])
          const entries = yield* statement(
            "select distinct account_id from ledger_entries where made_by = 'ann' and reason like 'drill%'"
          )
          assert.strictEqual(entries.length, drifts.length)
        }),
      timeout
    )
  })
})
