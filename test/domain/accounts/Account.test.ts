import { assert, describe, it } from "@effect/vitest"
import { type Account, accountAt } from "../../../src/domain/accounts/Account.ts"

describe("R39: an account whose terms change", () => {
  it("has the next ones from their moment on, and follows calendar months on the trial", () => {
    const account: Account = {
      ...{ id: "acc_1", email: "a@example.com", plan: "growth", quota: 75_000, concurrency: 5, cycleStart: 7 },
      ...{ createdAt: 0, suspendedAt: undefined, next: { plan: "trial", quota: 100, concurrency: 1, at: 1_000 } }
    }
    assert.strictEqual(accountAt(account, 999), account)
    const { next: _, ...terms } = account
    const after = { ...terms, plan: "trial", quota: 100, concurrency: 1, cycleStart: undefined }
    assert.deepStrictEqual<unknown>(accountAt(account, 1_000), after)
  })
})
