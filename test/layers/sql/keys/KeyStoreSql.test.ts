import { assert, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { makeSecret } from "../../../../src/domain/keys/ApiKey.ts"
import * as Ids from "../../../../src/layers/Ids.ts"
import * as KeyStoreSql from "../../../../src/layers/sql/keys/KeyStoreSql.ts"
import { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { KeyStore } from "../../../../src/services/keys/KeyStore.ts"
import type { Keyring } from "../../../../src/services/operations/Keyrings.ts"
import { rotatingKeyring } from "../../../support/accounts/rotatingKeyring.ts"
import { makeAccount } from "../../../support/api/searches.ts"
import * as EmbeddedDatabase from "../../../support/stores/EmbeddedDatabase.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"

/** Two replicas over one database and nothing else between them: what Redis would tell them, they do without. */
const replicas = Effect.gen(function* () {
  const one = yield* Layer.build(Layer.fresh(SqlStorage.replica()))
  const two = yield* Layer.build(Layer.fresh(SqlStorage.replica()))
  return [Context.get(one, KeyStore), Context.get(two, KeyStore)] as const
})

const storeWith = (pepper: Keyring) =>
  Effect.map(Layer.build(Layer.fresh(KeyStoreSql.layer({ pepper }).pipe(Layer.provide(Ids.layer)))), (context) =>
    Context.get(context, KeyStore)
  )

layer(SqlStorage.layer(EmbeddedDatabase.layer))("KeyStoreSql", (it) => {
  const ends = {
    revocation: (keys: KeyStore["Service"], accountId: string, id: string) => keys.revokeOwn(accountId, id),
    rotation: (keys: KeyStore["Service"], accountId: string, id: string) => keys.rotateOwn(accountId, id),
    "removal of the account": (_: KeyStore["Service"], accountId: string) =>
      Effect.flatMap(Accounts, (accounts) => accounts.remove(accountId)),
    "R49: suspension of the account": (_: KeyStore["Service"], accountId: string) =>
      Effect.flatMap(Accounts, (accounts) => accounts.suspend(accountId))
  }
  for (const [name, end] of Object.entries(ends)) {
    it.effect(`${name} takes effect on every replica within 10 seconds, without Redis`, () =>
      Effect.gen(function* () {
        const [one, two] = yield* replicas
        const account = yield* makeAccount({ plan: "starter" })
        const { key, secret } = yield* one.create(account.id, { label: "CI", mode: "live" })
        const admitted = (keys: KeyStore["Service"]) =>
          // As `Credentials` judges a principal.
          Effect.map(
            Effect.exit(keys.authenticate(secret)),
            (exit) => Exit.isSuccess(exit) && exit.value.account.suspendedAt === undefined
          )
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

  it.effect("R56: a key made with either pepper is known during a rotation, and is made anew with the new one", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const account = yield* makeAccount({ plan: "starter" })
      const pepper = rotatingKeyring()
      const keys = yield* storeWith(pepper)
      const isKnown = (secret: Redacted.Redacted) => Effect.map(Effect.exit(keys.authenticate(secret)), Exit.isSuccess)
      const madeWith = (id: string) =>
        Effect.map(sql`select pepper from api_keys where id = ${id}`, ([row]) => row?.pepper)

      const first = yield* keys.create(account.id, { label: "first", mode: "live" })
      pepper.give()
      assert.isTrue(yield* isKnown(first.secret))
      const second = yield* keys.create(account.id, { label: "second", mode: "live" })
      assert.strictEqual(yield* madeWith(second.key.id), pepper.values()[0].fingerprint)
      pepper.rotate()
      const { fingerprint } = pepper.values()[0]
      for (const { key, secret } of [first, second]) {
        assert.isTrue(yield* isKnown(secret))
        yield* Effect.repeat(madeWith(key.id), { until: (made) => made === fingerprint })
      }
      pepper.finish()
      assert.deepStrictEqual(yield* Effect.all([isKnown(first.secret), isKnown(second.secret)]), [true, true])
    })
  )

  it.effect(
    "R56: during a rotation a revocation takes effect within 10 seconds for both digests, on every replica",
    () =>
      Effect.gen(function* () {
        const account = yield* makeAccount({ plan: "starter" })
        // One replica has not seen yet that the rotation began.
        const [early, late] = [rotatingKeyring(), rotatingKeyring()]
        early.give()
        late.give()
        const [one, two] = [yield* storeWith(early), yield* storeWith(late)]
        const old = yield* one.create(account.id, { label: "old", mode: "live" })
        early.rotate()
        const young = yield* one.create(account.id, { label: "new", mode: "live" })
        const admitted = Effect.forEach([one, two], (keys) =>
          Effect.forEach([old, young], ({ secret }) =>
            Effect.map(Effect.exit(keys.authenticate(secret)), Exit.isSuccess)
          )
        )
        const allOf = (is: boolean) => [
          [is, is],
          [is, is]
        ]
        for (let second = 0; second < 7; second++) {
          assert.deepStrictEqual(yield* admitted, allOf(true))
          yield* TestClock.adjust("1 second")
        }
        yield* one.revoke(old.key.id)
        yield* one.revoke(young.key.id)
        assert.deepStrictEqual((yield* admitted)[0], [false, false])
        for (let second = 0; second < 10; second++) {
          yield* admitted
          yield* TestClock.adjust("1 second")
        }
        assert.deepStrictEqual(yield* admitted, allOf(false))
      })
  )

  for (const [name, peppers] of Object.entries({ "one pepper": 1, "two peppers": 2 })) {
    it.effect(`a key that is revoked while it is read is not known from that reading, with ${name}`, () =>
      Effect.gen(function* () {
        const account = yield* makeAccount({ plan: "starter" })
        const pepper = rotatingKeyring()
        if (peppers === 2) pepper.give()
        const held = yield* Deferred.make<void>()
        const wasRead = yield* Deferred.make<void>()
        const hold = Effect.andThen(Deferred.succeed(wasRead, undefined), Deferred.await(held))
        const sql = yield* SqlClient.SqlClient
        const slow = new Proxy(sql, {
          apply: (_target, _this, [texts, ...values]: [TemplateStringsArray, ...Array<unknown>]) =>
            texts.join("").includes("from api_keys k join accounts")
              ? Effect.tap(sql(texts, ...values), hold)
              : sql(texts, ...values)
        })
        const keys = yield* storeWith(pepper).pipe(Effect.provideService(SqlClient.SqlClient, slow))
        const { key, secret } = yield* keys.create(account.id, { label: "CI", mode: "live" })
        const reading = yield* Effect.forkChild(Effect.exit(keys.authenticate(secret)), { startImmediately: true })
        yield* Deferred.await(wasRead)
        yield* keys.revoke(key.id)
        yield* Deferred.succeed(held, undefined)
        yield* Fiber.join(reading)
        assert.isTrue(Exit.isFailure(yield* Effect.exit(keys.authenticate(secret))))
      })
    )
  }

  it.effect(
    "a caller that returns every few seconds never waits for a lookup of the key, and nothing is read for an idle key",
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

  it.effect("unknown keys with a valid checksum do not push out keys in use, and are remembered themselves", () =>
    Effect.gen(function* () {
      const reads: Array<unknown> = []
      const sql = yield* SqlClient.SqlClient
      const counting = new Proxy(sql, {
        apply: (_target, _this, [texts, ...values]: [TemplateStringsArray, ...Array<unknown>]) => {
          if (texts.join("").includes("from api_keys k join accounts")) reads.push(values)
          return sql(texts, ...values)
        }
      })
      const keys = yield* storeWith(rotatingKeyring()).pipe(Effect.provideService(SqlClient.SqlClient, counting))
      const account = yield* makeAccount({ plan: "starter" })
      const { secret } = yield* keys.create(account.id, { label: "CI", mode: "live" })
      yield* keys.authenticate(secret)
      const unknown = (n: number) => {
        const entropy = new Uint8Array(32)
        new DataView(entropy.buffer).setUint32(0, n)
        return Redacted.make(makeSecret("live", entropy))
      }
      const refuse = (n: number) => Effect.flip(keys.authenticate(unknown(n)))
      // More than the cache of principals has places.
      yield* Effect.forEach(
        Array.from({ length: 10_001 }, (_, n) => n),
        refuse,
        { concurrency: 256, discard: true }
      )
      const before = reads.length
      yield* keys.authenticate(secret)
      yield* refuse(10_000)
      assert.strictEqual(reads.length, before)
    })
  )
})
