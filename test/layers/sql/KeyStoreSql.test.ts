import { assert, layer } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
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
