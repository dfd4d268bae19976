import { assert, type Vitest } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { isSecret, makeSecret } from "../../src/domain/ApiKey.ts"
import type { Accounts } from "../../src/services/Accounts.ts"
import { Ids } from "../../src/services/Ids.ts"
import { KeyStore } from "../../src/services/KeyStore.ts"
import type { Ledger } from "../../src/services/Ledger.ts"
import { Backdoor } from "../support/Backdoor.ts"
import { makeAccount } from "../support/searches.ts"

/** What any store of keys promises. */
export const keyStoreConformance = (it: Vitest.MethodsNonLive<Accounts | Backdoor | Ids | KeyStore | Ledger>): void => {
  it.effect("a new key opens its account", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const account = yield* makeAccount({ plan: "starter" })
      const { key, secret } = yield* keys.create(account.id, { label: "CI", mode: "live" })
      const text = Redacted.value(secret)
      assert.isTrue(isSecret(text))
      assert.isTrue(text.startsWith("sk_live_"))
      assert.match(key.id, /^key_[0-9a-f]{32}$/)
      assert.deepInclude(key, { accountId: account.id, label: "CI", mode: "live", revokedAt: undefined })
      assert.isTrue(key.hint.endsWith(text.slice(-4)))
      assert.deepStrictEqual(yield* keys.authenticate(secret), {
        _tag: "key",
        account,
        key: { id: key.id, label: "CI", mode: "live" }
      })
    })
  )

  it.effect("unknown, revoked and malformed secrets fail alike", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const account = yield* makeAccount({ plan: "starter" })
      const { key, secret } = yield* keys.create(account.id, { label: "CI", mode: "test" })
      yield* keys.revoke(key.id)
      const unknown = makeSecret("live", yield* (yield* Ids).entropy(32))
      const refuse = (text: string) => Effect.flip(keys.authenticate(Redacted.make(text)))
      const refusals = yield* Effect.all([
        refuse(Redacted.value(secret)),
        refuse(unknown),
        refuse("sk_live_x"),
        refuse("")
      ])
      for (const refusal of refusals) assert.deepStrictEqual(refusal, refusals[0])
      assert.strictEqual(refusals[0]?._tag, "unauthorized")
    })
  )

  it.effect("a revoked key is refused within 10 seconds, and cannot be revoked or rotated again", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const account = yield* makeAccount({ plan: "starter" })
      const { key, secret } = yield* keys.create(account.id, { label: "CI", mode: "live" })
      yield* keys.authenticate(secret)
      const revoked = yield* keys.revoke(key.id)
      assert.isDefined(revoked.revokedAt)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* Effect.flip(keys.authenticate(secret)))._tag, "unauthorized")
      assert.strictEqual((yield* Effect.flip(keys.revoke(key.id)))._tag, "not_found")
      assert.strictEqual((yield* Effect.flip(keys.rotate(key.id)))._tag, "not_found")
      assert.strictEqual((yield* Effect.flip(keys.revoke("key_none")))._tag, "not_found")
    })
  )

  it.effect("rotation replaces a key by one of the same name and type", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const account = yield* makeAccount({ plan: "starter" })
      const old = yield* keys.create(account.id, { label: "CI", mode: "test" })
      yield* keys.authenticate(old.secret)
      yield* TestClock.adjust("1 minute")
      const issued = yield* keys.rotate(old.key.id)
      assert.deepInclude(issued.key, { label: "CI", mode: "test", accountId: account.id })
      assert.notStrictEqual(issued.key.id, old.key.id)
      assert.strictEqual((yield* keys.authenticate(issued.secret)).key.id, issued.key.id)
      yield* TestClock.adjust("10 seconds")
      yield* Effect.flip(keys.authenticate(old.secret))
      const listed = yield* keys.list(account.id)
      assert.deepStrictEqual(
        listed.map(({ id, revokedAt }) => [id, revokedAt !== undefined]),
        [
          [issued.key.id, false],
          [old.key.id, true]
        ]
      )
    })
  )

  it.effect("a key of no account cannot be made, and that of a deleted account opens nothing", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const account = yield* makeAccount({ plan: "starter" })
      const { secret } = yield* keys.create(account.id, { label: "CI", mode: "live" })
      yield* (yield* Backdoor).deleteAccount(account.id)
      assert.strictEqual((yield* Effect.flip(keys.authenticate(secret)))._tag, "unauthorized")
      const refusal = yield* Effect.flip(keys.create("acc_none", { label: "CI", mode: "live" }))
      assert.strictEqual(refusal._tag, "not_found")
    })
  )
}
