import { assert, type Vitest } from "@effect/vitest"
import { Cause, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import type { Ids } from "../../../../src/services/Ids.ts"
import { Audit } from "../../../../src/services/operations/Audit.ts"
import { makeEmail } from "../../../support/api/searches.ts"

const record = (subject: string) => ({ operator: "ada", command: "account create", subject, arguments: {} })

/** What the record of commands promises over a database. */
export const auditSqlConformance = (it: Vitest.MethodsNonLive<Accounts | Audit | Ids | SqlClient.SqlClient>): void => {
  it.effect.each([
    "update audit_entries set operator = 'somebody else'",
    "delete from audit_entries",
    "truncate audit_entries"
  ])("the owner of the table cannot change it: %s", (statement) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* (yield* Audit).append(record("acc_kept"))
      const error = yield* Effect.flip(sql.unsafe(statement))
      assert.include(Cause.pretty(Cause.fail(error)), "audit_entries is append-only")
      const [owner] = yield* sql`
        select tableowner = current_user as mine from pg_tables where tablename = 'audit_entries'`
      assert.deepStrictEqual(owner, { mine: true })
    })
  )

  it.effect("a change whose entry cannot be written is rolled back", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const email = yield* makeEmail
      const change = (yield* Audit).recorded(accounts.create({ email, plan: "starter" }), ({ id }) => ({
        ...record(id),
        operator: "Postgres has no \0"
      }))
      assert.isTrue(Cause.hasDies(yield* Effect.flip(Effect.sandbox(change))))
      assert.strictEqual((yield* Effect.flip(accounts.byEmail(email)))._tag, "not_found")
    })
  )
}
