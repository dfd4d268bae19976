import { assert, type Vitest } from "@effect/vitest"
import { Clock, Effect, Redacted, Result } from "effect"
import { TestClock } from "effect/testing"
import { isSecret, makeSecret } from "../../../../src/domain/keys/ApiKey.ts"
import { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import type { Ledger } from "../../../../src/services/credits/Ledger.ts"
import { Ids } from "../../../../src/services/Ids.ts"
import { KeyStore, lastUsedStepMs } from "../../../../src/services/keys/KeyStore.ts"
import { makeAccount } from "../../../support/api/searches.ts"
import { Backdoor } from "../../../support/stores/Backdoor.ts"

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
      for (const id of ["key_none", "key_\0"]) {
        assert.strictEqual((yield* Effect.flip(keys.revoke(id)))._tag, "not_found")
        assert.strictEqual((yield* Effect.flip(keys.rotate(id)))._tag, "not_found")
      }
    })
  )

  it.effect("the last use of each key is known to the minute, also of keys that are used together", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const account = yield* makeAccount({ plan: "starter" })
      const issued = yield* Effect.forEach([1, 2, 3], (number) =>
        keys.create(account.id, { label: `${number}`, mode: "live" })
      )
      const unused = yield* keys.create(account.id, { label: "unused", mode: "live" })
      const use = Effect.forEach(issued, ({ secret }) => keys.authenticate(secret), {
        concurrency: "unbounded",
        discard: true
      })
      const lastUses = Effect.map(keys.list(account.id), (all) => new Map(all.map((key) => [key.id, key.lastUsedAt])))
      const usedSince = (ms: number) =>
        Effect.repeat(lastUses, {
          until: (uses) => issued.every(({ key }) => (uses.get(key.id) ?? Number.NEGATIVE_INFINITY) >= ms)
        })
      const start = yield* Clock.currentTimeMillis
      yield* use
      const first = yield* usedSince(start)
      assert.isUndefined(first.get(unused.key.id))
      // Within the same minute, a use changes nothing.
      yield* TestClock.adjust("30 seconds")
      yield* use
      yield* TestClock.adjust("31 seconds")
      assert.deepStrictEqual(yield* lastUses, first)
      yield* use
      yield* usedSince(start + lastUsedStepMs)
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

  it.effect("the holder of an account ends its keys only: another account's key does not exist", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const account = yield* makeAccount({ plan: "starter" })
      const other = yield* makeAccount({ plan: "starter" })
      const { key, secret } = yield* keys.create(other.id, { label: "CI", mode: "live" })
      const missing = yield* Effect.flip(keys.revokeOwn(account.id, `key_${"0".repeat(32)}`))
      assert.strictEqual(missing._tag, "not_found")
      assert.deepStrictEqual(yield* Effect.flip(keys.revokeOwn(account.id, key.id)), missing)
      assert.deepStrictEqual(yield* Effect.flip(keys.rotateOwn(account.id, key.id)), missing)
      assert.strictEqual((yield* keys.authenticate(secret)).key.id, key.id)
      const rotated = yield* keys.rotateOwn(other.id, key.id)
      assert.deepInclude(rotated.key, { accountId: other.id, label: "CI", mode: "live" })
      assert.deepStrictEqual(yield* Effect.flip(keys.rotateOwn(other.id, key.id)), missing)
      assert.isDefined((yield* keys.revokeOwn(other.id, rotated.key.id)).revokedAt)
      assert.deepStrictEqual(yield* Effect.flip(keys.revokeOwn(other.id, rotated.key.id)), missing)
    })
  )

  it.effect("an account has at most 50 active keys, also when they are asked for at once", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const account = yield* makeAccount({ plan: "starter" })
      const create = keys.create(account.id, { label: "CI", mode: "live" })
      const results = yield* Effect.all(
        Array.from({ length: 60 }, () => Effect.result(create)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter(Result.isSuccess).length, 50)
      for (const { failure } of results.filter(Result.isFailure)) assert.strictEqual(failure._tag, "invalid_request")
      const [first] = yield* keys.list(account.id)
      const rotated = yield* keys.rotateOwn(account.id, first?.id ?? "")
      assert.strictEqual((yield* Effect.flip(create))._tag, "invalid_request")
      yield* keys.revokeOwn(account.id, rotated.key.id)
      yield* create
    })
  )

  it.effect("lists every active key and the 100 revoked last", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const account = yield* makeAccount({ plan: "starter" })
      const old = yield* keys.create(account.id, { label: "old", mode: "live" })
      const revoked: Array<string> = []
      for (let n = 0; n < 101; n++) {
        yield* TestClock.adjust("1 second")
        const { key } = yield* keys.create(account.id, { label: "CI", mode: "live" })
        yield* keys.revoke(key.id)
        revoked.unshift(key.id)
      }
      const listed = yield* keys.list(account.id)
      assert.deepStrictEqual(
        listed.map(({ id }) => id),
        [...revoked.slice(0, 100), old.key.id]
      )
    })
  )

  it.effect("the keys of a removed account are revoked and say nothing more of their owner", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const accounts = yield* Accounts
      const account = yield* makeAccount({ plan: "starter" })
      const { secret } = yield* keys.create(account.id, { label: "Ada's key", mode: "live" })
      yield* keys.authenticate(secret)
      yield* accounts.remove(account.id)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* Effect.flip(keys.authenticate(secret)))._tag, "unauthorized")
      const [key] = yield* keys.list(account.id)
      assert.isDefined(key?.revokedAt)
      assert.deepInclude(key, { label: "", hint: "" })
    })
  )

  it.effect("R49: a key's principal shows within 10 seconds that its account is suspended or deleted", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const accounts = yield* Accounts
      const account = yield* makeAccount({ plan: "starter" })
      const { secret } = yield* keys.create(account.id, { label: "CI", mode: "live" })
      const isSuspended = Effect.map(keys.authenticate(secret), (it) => it.account.suspendedAt !== undefined)
      for (const [change, expected] of [
        [accounts.suspend, true],
        [accounts.resume, false]
      ] as const) {
        yield* isSuspended
        yield* change(account.id)
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual(yield* isSuspended, expected)
      }
      assert.lengthOf(yield* keys.list(account.id), 1)
    })
  )

  it.effect("all active keys of an account are revoked at once, and those of others are not", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const [account, other] = [yield* makeAccount({ plan: "starter" }), yield* makeAccount({ plan: "starter" })]
      const make = (id: string) => keys.create(id, { label: "CI", mode: "live" })
      const [first, second, third] = [yield* make(account.id), yield* make(account.id), yield* make(account.id)]
      const theirs = yield* make(other.id)
      const old = yield* keys.revoke(first.key.id)
      yield* keys.authenticate(second.secret)
      yield* TestClock.adjust("1 second")
      const revoked = yield* keys.revokeAll(account.id)
      assert.sameMembers(
        revoked.map(({ id }) => id),
        [second.key.id, third.key.id]
      )
      for (const { revokedAt } of revoked) assert.isDefined(revokedAt)
      assert.strictEqual((yield* Effect.flip(keys.authenticate(second.secret)))._tag, "unauthorized")
      const listed = yield* keys.list(account.id)
      assert.strictEqual(listed.find(({ id }) => id === old.id)?.revokedAt, old.revokedAt)
      yield* keys.authenticate(theirs.secret)
      assert.deepStrictEqual(yield* keys.revokeAll(account.id), [])
    })
  )

  it.effect("the keys of all accounts are listed newest first, page by page", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      // Later than the keys of all other tests.
      yield* TestClock.setTime(Date.parse("2100-01-01T00:00:00Z"))
      const ids: Array<string> = []
      for (let n = 0; n < 3; n++) {
        yield* TestClock.adjust("1 second")
        const account = yield* makeAccount({ plan: "starter" })
        const { key } = yield* keys.create(account.id, { label: "CI", mode: "live" })
        ids.unshift(key.id)
      }
      yield* keys.revoke(ids[1] ?? "")
      const page = (after: string | undefined, limit: number) =>
        Effect.map(keys.listAll({ after, limit }), (all) => all.map(({ id }) => id))
      assert.deepStrictEqual(yield* page(undefined, 2), ids.slice(0, 2))
      assert.strictEqual((yield* page(ids[1], 2))[0], ids[2])
      assert.deepStrictEqual(yield* page("key_none", 2), [])
    })
  )
}
