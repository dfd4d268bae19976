import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Account } from "../../../../src/domain/accounts/Account.ts"
import { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import type { Ledger } from "../../../../src/services/credits/Ledger.ts"
import type { Ids } from "../../../../src/services/Ids.ts"
import { OperatorFigures } from "../../../../src/services/operations/OperatorFigures.ts"
import { makeAccount } from "../../../support/api/searches.ts"

const minuteMs = 60_000
const at = Date.UTC(2026, 0, 31)

const subscribe = Effect.fnUntraced(function* (
  { id }: Account,
  name: string,
  status: "active" | "past_due" | "ended",
  pastDueAt?: number
) {
  const sql = yield* SqlClient.SqlClient
  const due = pastDueAt === undefined ? null : new Date(pastDueAt)
  yield* sql`
    insert into billing_subscriptions (
      id, account_id, plan, status, period_start, period_end, started_at, cancel_at_period_end, modified_at, first_plan,
      past_due_at
    ) values (
      ${`${name} ${id}`}, ${id}, 'growth', ${status}, ${new Date(at)}, ${new Date(at)}, ${new Date(at)}, false,
      ${new Date(at)}, 'growth', ${due}
    )`
})

/** Figures of the accounts that a test makes; others share the database. */
export const operatorFiguresConformance = (
  it: Vitest.MethodsNonLive<Accounts | Ids | Ledger | OperatorFigures | SqlClient.SqlClient>
): void => {
  it.effect("an account is counted by its plan, and as suspended while it is", () =>
    Effect.gen(function* () {
      const { plans } = yield* OperatorFigures
      const starter = Effect.map(
        plans,
        (all) => all.find(({ plan }) => plan === "starter") ?? { accounts: 0, suspended: 0 }
      )
      const before = yield* starter
      const account = yield* makeAccount({ plan: "starter" })
      yield* Effect.flatMap(Accounts, (accounts) => accounts.suspend(account.id))
      const { accounts, suspended } = yield* starter
      assert.deepStrictEqual([accounts, suspended], [before.accounts + 1, before.suspended + 1])
    })
  )

  it.effect("an account was last seen when a key or a session of it was used", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { lastSeen } = yield* OperatorFigures
      const { id } = yield* makeAccount({ plan: "starter" })
      assert.isUndefined(yield* lastSeen(id))
      yield* sql`
        insert into auth_users (id, email, email_verified, name, created_at, updated_at)
        values (${`usr ${id}`}, ${`${id}@example.com`}, true, '', ${new Date(at)}, ${new Date(at)})`
      yield* sql`
        insert into auth_sessions (id, user_id, account_id, digest, expires_at, created_at, updated_at)
        values (${`ses ${id}`}, ${`usr ${id}`}, ${id}, '', 'infinity', ${new Date(at)}, ${new Date(at)})`
      assert.strictEqual(yield* lastSeen(id), at)
      // Other tests count all sessions.
      yield* sql`delete from auth_users where id = ${`usr ${id}`}`
    })
  )

  it.effect("revenue is what was paid since a time, without orders that are not paid", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* makeAccount({ plan: "starter" })
      // Later than any other test's.
      const since = Date.UTC(2090, 0, 1)
      const orders = [
        ["pack", "paid", 500, 100, since],
        ["pack", "paid", 700, 0, since + minuteMs],
        ["plan", "void", 900, 0, since],
        ["plan", "paid", 900, 0, since - minuteMs]
      ] as const
      for (const [index, [kind, status, net, refunded, created]] of orders.entries()) {
        yield* sql`
          insert into billing_orders (id, account_id, kind, status, net_cents, refunded_cents, reading, created_at)
          values (${`${index} ${id}`}, ${id}, ${kind}, ${status}, ${net}, ${refunded}, 1, ${new Date(created)})`
      }
      const { revenue } = yield* OperatorFigures
      assert.deepStrictEqual(yield* revenue(since), [{ kind: "pack", orders: 2, netCents: 1200, refundedCents: 100 }])
    })
  )

  it.effect("lists who has two open subscriptions, and unpaid renewals from the longest unpaid", () =>
    Effect.gen(function* () {
      const figures = yield* OperatorFigures
      const [one, two, ended] = [
        yield* makeAccount({ plan: "starter" }),
        yield* makeAccount({ plan: "starter" }),
        yield* makeAccount({ plan: "starter" })
      ]
      yield* subscribe(one, "a", "past_due", 1_000)
      yield* subscribe(two, "b", "active")
      yield* subscribe(two, "c", "past_due", 500)
      yield* subscribe(ended, "d", "active")
      yield* subscribe(ended, "e", "ended")
      const own = (all: ReadonlyArray<{ readonly id: string; readonly accountId: string }>) =>
        all.flatMap(({ accountId, id }) => ([one.id, two.id, ended.id].includes(accountId) ? [id.charAt(0)] : []))
      assert.deepStrictEqual(own(yield* figures.secondSubscriptions), ["b", "c"])
      assert.deepStrictEqual(own(yield* figures.unpaid), ["c", "a"])
    })
  )
}
