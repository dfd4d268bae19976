import { assert, describe, layer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Account } from "../../../../src/domain/accounts/Account.ts"
import { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import { makeAccount, makeRecords } from "../../../support/api/searches.ts"
import { allowanceOf } from "../../../support/stores/allowances.ts"
import * as EmbeddedDatabase from "../../../support/stores/EmbeddedDatabase.ts"
import * as Postgres from "../../../support/stores/Postgres.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"

const charge = Effect.fnUntraced(function* (account: Account, credits: number) {
  const ledger = yield* Ledger
  yield* ledger.settle(yield* ledger.reserve(account, credits), yield* makeRecords(account, credits))
})

/** Makes a plan of trial due, as the end of a subscription does. */
const endSubscription = (account: Account) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
      update accounts set next_plan = 'trial', next_quota = 100, next_concurrency = 1,
        next_plan_at = clock_timestamp() - interval '1 second'
      where id = ${account.id}`
  )

const remove = ({ id }: Account) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`update accounts set deleted_at = now(), email = '' where id = ${id}`)

const suite = <E>(name: string, database: Layer.Layer<SqlClient.SqlClient, E>) => {
  layer(SqlStorage.layer(database), { excludeTestServices: true, timeout: "60 seconds" })(name, (it) => {
    it.effect("R74: a look finds the allowance of a period that nobody has opened", () =>
      Effect.gen(function* () {
        const account = yield* makeAccount({ plan: "growth" }, 7)
        assert.deepInclude(yield* allowanceOf(account), { used: 0, balance: 7 })
        yield* charge(account, 3)
        const sql = yield* SqlClient.SqlClient
        yield* sql`
          update allowances set period_start = period_start - interval '3 months', period_end = now() - interval '2 months'
          where scope = ${account.id}`
        assert.deepInclude(yield* allowanceOf(account), { plan: "growth", used: 0, balance: 7 })
      })
    )

    it.effect("R32, R74: a preview finds the trial that follows a subscription, whoever had the mailbox's grant", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const create = (email: string, plan: "growth" | "trial") => accounts.create({ email, plan })
        const free = yield* create("free@example.com", "growth")
        yield* endSubscription(free)
        assert.deepInclude(yield* allowanceOf(free), { plan: "trial", quota: 100, used: 0 })

        const before = yield* create("mail.box+one@gmail.com", "trial")
        yield* charge(before, 5)
        yield* remove(before)
        const heir = yield* create("mailbox+two@gmail.com", "growth")
        yield* endSubscription(heir)
        assert.deepInclude(yield* allowanceOf(heir), { plan: "trial", quota: 100, used: 5 })

        const late = yield* create("mailbox+three@gmail.com", "growth")
        yield* charge(late, 2)
        yield* endSubscription(late)
        assert.deepInclude(yield* allowanceOf(late), { plan: "trial", quota: 0, used: 0 })
      })
    )
  })
}

describe("a look at the ledger", () => {
  suite("on the embedded database", EmbeddedDatabase.layer)
})

Postgres.describeWithPostgres("a look at the ledger on Postgres", () => {
  suite("on a server", Postgres.layer)
})
