import { Effect, type Redacted } from "effect"
import type { Principal } from "../domain/accounts/Principal.ts"
import { Accounts, type PlanChoice } from "../services/accounts/Accounts.ts"
import { KeyStore } from "../services/keys/KeyStore.ts"

export interface Caller {
  readonly principal: Principal & { readonly _tag: "key" }
  readonly secret: Redacted.Redacted
}

/** The trial's 100 credits are the account's own, unless a plan is given. */
export const make = Effect.fnUntraced(function* (choice: PlanChoice = { plan: "trial" }, email = "test@example.com") {
  const account = yield* Effect.flatMap(Accounts, (accounts) => accounts.create({ ...choice, email }))
  const keys = yield* KeyStore
  const { key, secret } = yield* keys.create(account.id, { label: "test", mode: "test" })
  const caller: Caller = {
    principal: { _tag: "key", account, key: { id: key.id, label: key.label, mode: key.mode } },
    secret
  }
  return caller
}, Effect.orDie)
