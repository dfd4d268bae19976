import { Effect, type Redacted } from "effect"
import type { Principal } from "../domain/accounts/Principal.ts"
import { Accounts, type PlanChoice } from "../services/accounts/Accounts.ts"
import { KeyStore } from "../services/keys/KeyStore.ts"

/** An account with one key, for tests of services that act for somebody. */
export interface Caller {
  readonly principal: Principal & { readonly _tag: "key" }
  /** The secret of the key, for tests over HTTP. */
  readonly secret: Redacted.Redacted
}

/** Creates an account and its key. The trial's 100 credits are its own, unless a plan is given. */
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
