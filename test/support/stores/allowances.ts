import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Account } from "../../../src/domain/accounts/Account.ts"
import { Accounts } from "../../../src/services/accounts/Accounts.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"

/** Reads the account's allowance, after checking that `peek` returns the same and changes nothing. */
export const allowanceOf = Effect.fnUntraced(function* ({ id }: Account) {
  const ledger = yield* Ledger
  const account = yield* (yield* Accounts).byId(id)
  const peeked = yield* ledger.peek(account)
  const allowance = yield* ledger.allowance(account)
  assert.deepStrictEqual(peeked, allowance)
  return allowance
})
