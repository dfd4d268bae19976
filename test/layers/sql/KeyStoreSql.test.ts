import { assert, layer } from "@effect/vitest"
import { Array as Arr, Context, Effect, Exit, Fiber, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as Ids from "../../../src/layers/Ids.ts"
import * as KeyStoreSql from "../../../src/layers/sql/KeyStoreSql.ts"
import * as Pglite from "../../../src/layers/sql/Pglite.ts"
import { Accounts } from "../../../src/services/Accounts.ts"
import { KeyStore } from "../../../src/services/KeyStore.ts"
import * as SqlStorage from "../../support/SqlStorage.ts"
import { makeAccount } from "../../support/searches.ts"

/** Two replicas over one database and nothing else between them: what Redis would tell them, they do without. */
const replicas = Effect.gen(function* () {
  const one = yield* Layer.build(Layer.fresh(SqlStorage.replica()))
  const two = yield* Layer.build(Layer.fresh(SqlStorage.replica()))
  return [Context.get(one, KeyStore), Context.get(two, KeyStore)] as const
})

layer(SqlStorage.layer(Pglite.layer({ dataDir: undefined })), { timeout: "60 seconds" })("KeyStoreSql", (it) => {
  const ends = {
    revocation: (keys: KeyStore["Service"], accountId: string, id: string) => keys.revokeOwn(accountId, id),
    rotation: (keys: KeyStore["Service"], accountId: string, id: string) => keys.rotateOwn(accountId, id),
    "removal of the account": (_: KeyStore["Service"], accountId: string) =>
      Effect.flatMap(Accounts, (accounts) => accounts.remove(accountId))
  }
  for (const [name, end] of Object.entries(ends)) {
    it.effect(`${name} takes effect on every replica within 10 seconds, without Redis`, () =>
      Effect.gen(function* () {
        const [one, two] = yield* replicas
        const account = yield* makeAccount({ plan: "starter" })
        const { key, secret } = yield* one.create(account.id, { label: "CI", mode: "live" })
        const admitted = (keys: KeyStore["Service"]) =>
          Effect.map(Effect.exit(keys.authenticate(secret)), Exit.isSuccess)
        assert.isTrue(yield* admitted(one))
        // Asked for all the time, as a busy key is: no answer is kept alive by being used.
        for (let second = 0; second < 7; second++) {
          assert.isTrue(yield* admitted(two))
          yield* TestClock.adjust("1 second")
        }
        assert.isTrue(yield* admitted(two))
        yield* end(one, account.id, key.id)
        for (let second = 0; second < 10; second++) {
          yield* admitted(two)
          yield* TestClock.adjust("1 second")
        }
        assert.isFalse(yield* admitted(one))
        assert.isFalse(yield* admitted(two))
      })
    )
  }

  it.effect(
    "R56: a key made with either pepper is known during a rotation, is made anew, and ends at once when revoked",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const account = yield* makeAccount({ plan: "starter" })
        const [oldPepper, newPepper] = ["old", "new"].map((name) => ({
          secret: Redacted.make(`${name} pepper`),
          fingerprint: name
        }))
        assert.isDefined(oldPepper)
        assert.isDefined(newPepper)
        const state = { values: Arr.of(oldPepper), isRotating: false }
        const pepper = { values: () => state.values, isRotating: () => state.isRotating }
        const context = yield* Layer.build(Layer.fresh(KeyStoreSql.layer({ pepper }).pipe(Layer.provide(Ids.layer))))
        const keys = Context.get(context, KeyStore)
        const isKnown = (secret: Redacted.Redacted) =>
          Effect.map(Effect.exit(keys.authenticate(secret)), Exit.isSuccess)
        const madeWith = (id: string) =>
          Effect.map(sql`select pepper from api_keys where id = ${id}`, ([row]) => row?.pepper)

        const first = yield* keys.create(account.id, { label: "first", mode: "live" })
        // Both are given, and the old one is in use.
        state.values = [oldPepper, newPepper]
        assert.isTrue(yield* isKnown(first.secret))
        const second = yield* keys.create(account.id, { label: "second", mode: "live" })
        assert.strictEqual(yield* madeWith(second.key.id), "old")
        // The new one is in use.
        state.values = [newPepper, oldPepper]
        state.isRotating = true
        for (const { key, secret } of [first, second]) {
          assert.isTrue(yield* isKnown(secret))
          yield* Effect.repeat(madeWith(key.id), { until: (name) => name === "new" })
        }
        const third = yield* keys.create(account.id, { label: "third", mode: "live" })
        assert.isTrue(yield* isKnown(third.secret))
        yield* keys.revoke(third.key.id)
        assert.isFalse(yield* isKnown(third.secret))
        // The old one is forgotten.
        state.values = [newPepper]
        state.isRotating = false
        assert.deepStrictEqual(yield* Effect.all([isKnown(first.secret), isKnown(second.secret)]), [true, true])
      })
  )

  it.effect(
    "whoever calls every few seconds waits for no look-up of the key, and nothing is read for who stays away",
    () =>
      Effect.gen(function* () {
        const [keys] = yield* replicas
        const account = yield* makeAccount({ plan: "starter" })
        const { secret } = yield* keys.create(account.id, { label: "CI", mode: "live" })
        const isKnown = Effect.gen(function* () {
          const fiber = yield* Effect.forkChild(keys.authenticate(secret), { startImmediately: true })
          const known = fiber.pollUnsafe() !== undefined
          yield* Fiber.join(fiber)
          return known
        })
        const pass = Effect.fnUntraced(function* (seconds: number) {
          for (let second = 0; second < seconds; second++) {
            yield* TestClock.adjust("1 second")
            // The database has one connection: what was asked of it before has been answered.
            yield* Effect.replicateEffect(keys.list(account.id), 3, { discard: true })
          }
        })
        assert.isFalse(yield* isKnown)
        for (const seconds of [1, 6, 12, 6]) {
          yield* pass(seconds)
          assert.isTrue(yield* isKnown)
        }
        yield* pass(40)
        assert.isFalse(yield* isKnown)
      })
  )
})
