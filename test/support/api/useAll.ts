import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Accounts } from "../../../src/services/accounts/Accounts.ts"
import { QueryLog } from "../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { KeyStore } from "../../../src/services/keys/KeyStore.ts"
import { makeAccount, makeRecord } from "./searches.ts"

/** Performs every operation of a replica on the store, so that its statements are prepared. */
export const useAll = Effect.gen(function* () {
  const accounts = yield* Accounts
  const keys = yield* KeyStore
  const ledger = yield* Ledger
  const account = yield* makeAccount({ plan: "starter" }, 5)
  yield* accounts.byEmail(account.email)
  yield* accounts.setPlan(account.id, { plan: "growth" })
  yield* accounts.suspend(account.id)
  yield* accounts.resume(account.id)
  const { key: first } = yield* keys.create(account.id, { label: "CI", mode: "live" })
  yield* keys.rotate(first.id)
  const { key, secret } = yield* keys.create(account.id, { label: "CI", mode: "live" })
  yield* keys.authenticate(secret)
  yield* keys.list(account.id)
  yield* keys.revoke(key.id)
  yield* ledger.settle(yield* ledger.reserve(account, 1), [yield* makeRecord(account)])
  assert.strictEqual((yield* (yield* QueryLog).recent(account.id, 10)).length, 1)
  assert.deepInclude(yield* ledger.allowance(account), { used: 1, balance: 5 })
  yield* ledger.sweep
  assert.deepStrictEqual(yield* ledger.verify, [])
})
