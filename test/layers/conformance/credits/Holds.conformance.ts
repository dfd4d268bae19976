import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import type { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { Holds } from "../../../../src/services/credits/Holds.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import type { Ids } from "../../../../src/services/Ids.ts"
import { makeAccount } from "../../../support/api/searches.ts"

/** What any view of the holds promises. */
export const holdsConformance = (it: Vitest.MethodsNonLive<Accounts | Holds | Ids | Ledger>): void => {
  it.effect("I3: a hold is listed with its credits until it ends", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const holds = yield* Holds
      const account = yield* makeAccount({ plan: "custom", quota: 2 }, 10)
      const filter = { accountId: account.id, overdueOnly: false, limit: 10 }
      const first = yield* ledger.reserve(account, 5)
      const before = yield* holds.count
      const [listed, ...others] = yield* holds.list(filter)
      assert.deepStrictEqual(others, [])
      assert.deepInclude(listed, {
        id: first.id,
        accountId: account.id,
        fromQuota: 2,
        fromBalance: 3,
        isOverdue: false
      })
      assert.deepStrictEqual(yield* holds.list({ ...filter, overdueOnly: true }), [])
      yield* ledger.settle(first, [])
      assert.deepStrictEqual(yield* holds.list(filter), [])
      assert.strictEqual((yield* holds.count).open, before.open - 1)
    })
  )

  it.effect("the list ends at its limit, and begins with the lease that ends first", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const holds = yield* Holds
      const account = yield* makeAccount({ plan: "custom", quota: 9 })
      for (let n = 0; n < 3; n++) yield* ledger.reserve(account, 1)
      const all = yield* holds.list({ accountId: account.id, overdueOnly: false, limit: 10 })
      const expiries = all.map(({ expiresAt }) => expiresAt)
      assert.deepStrictEqual(
        expiries,
        [...expiries].sort((a, b) => a - b)
      )
      const two = yield* holds.list({ accountId: account.id, overdueOnly: false, limit: 2 })
      assert.deepStrictEqual(two, all.slice(0, 2))
    })
  )
}
