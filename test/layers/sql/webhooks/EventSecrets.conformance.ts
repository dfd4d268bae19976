import { assert, type Vitest } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Webhook } from "standardwebhooks"
import { secretPrefix } from "../../../../src/domain/webhooks/Event.ts"
import * as EventBooksSql from "../../../../src/layers/sql/webhooks/EventBooksSql.ts"
import { signatureHeader } from "../../../../src/layers/webhooks/Signature.ts"
import type { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import { Ids } from "../../../../src/services/Ids.ts"
import type { Keyring } from "../../../../src/services/operations/Keyrings.ts"
import type { StoreClock } from "../../../../src/services/StoreClock.ts"
import { EventBooks } from "../../../../src/services/webhooks/EventBooks.ts"
import { rotatingKeyring } from "../../../support/accounts/rotatingKeyring.ts"
import { makeAccount } from "../../../support/api/searches.ts"

const secretOf = (byte: number) => `${secretPrefix}${Buffer.alloc(32, byte).toString("base64")}`

const booksWith = (keyring: Keyring) =>
  Effect.map(Layer.build(EventBooksSql.layer({ keyring })), (context) => Context.get(context, EventBooks))

/** Far above what other tests left behind. */
const all = { working: 10_000, failing: 10_000, perEndpoint: 10_000 }

/** An endpoint of its own, with the secret 1. */
const anEndpoint = Effect.fnUntraced(function* (books: EventBooks["Service"]) {
  const account = yield* makeAccount({ plan: "trial" })
  const id = yield* (yield* Ids).make("whk_")
  yield* books.addEndpoint(account.id, {
    id,
    url: "https://example.com/",
    types: [],
    secret: Redacted.make(secretOf(1))
  })
  const replace = (secret: string) => books.replaceSecret(account.id, id, Redacted.make(secret), 3_600_000)
  /** The secrets of these with which a receiver verifies the endpoint's next delivery. */
  const verifiedBy = Effect.fnUntraced(function* (candidates: ReadonlyArray<string>) {
    yield* books.addTest(account.id, id)
    const taken = (yield* books.take(all, 60_000)).find(({ event }) => event.accountId === account.id)
    if (taken?.receiver._tag !== "endpoint") return assert.fail("nothing was taken")
    // The library of the receiver compares the timestamp with its own clock.
    const timestamp = Math.floor(Date.now() / 1000)
    const headers = {
      "webhook-id": taken.event.id,
      "webhook-timestamp": `${timestamp}`,
      "webhook-signature": signatureHeader(taken.receiver.secrets, taken.event.id, timestamp, "{}")
    }
    return candidates.filter((secret) => {
      try {
        new Webhook(secret).verify("{}", headers)
        return true
      } catch {
        return false
      }
    })
  })
  return { id, replace, verifiedBy }
})

/** The secrets of endpoints over a rotation of AUTH_SECRET, by the database alone. */
export const eventSecretsConformance = (
  it: Vitest.MethodsNonLive<SqlClient.SqlClient | Accounts | Ids | Ledger | StoreClock>
): void => {
  it.effect("R53, R56: deliveries verify before, during and after a rotation of AUTH_SECRET, by both secrets", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const keyring = rotatingKeyring()
      const books = yield* booksWith(keyring)
      const { id, replace, verifiedBy } = yield* anEndpoint(books)
      const both = [secretOf(2), secretOf(1)]
      const sealed = Effect.map(
        sql<{ secret: Uint8Array; old_secret: Uint8Array; secret_key: string }>`
          select secret, old_secret, secret_key from webhook_endpoints where id = ${id}`,
        ([row]) => row ?? assert.fail("the endpoint is gone")
      )
      yield* replace(secretOf(2))
      assert.deepStrictEqual(yield* verifiedBy([...both, secretOf(3)]), both)
      const before = yield* sealed

      keyring.give()
      assert.strictEqual((yield* books.resealSecrets(100)).renewed, 0)
      keyring.rotate()
      assert.deepStrictEqual(yield* verifiedBy(both), both)
      assert.isAbove((yield* books.resealSecrets(100)).renewed, 0)
      const after = yield* sealed
      assert.strictEqual(after.secret_key, keyring.values()[0].fingerprint)
      assert.notDeepEqual(after.secret, before.secret)
      assert.notDeepEqual(after.old_secret, before.old_secret)
      assert.deepStrictEqual(yield* verifiedBy(both), both)
      assert.strictEqual((yield* books.resealSecrets(100)).renewed, 0)

      keyring.finish()
      assert.deepStrictEqual(yield* verifiedBy(both), both)
    })
  )

  it.effect("R53, R56: a secret that is replaced during a rotation keeps the grace of the one before", () =>
    Effect.gen(function* () {
      const keyring = rotatingKeyring()
      const books = yield* booksWith(keyring)
      const { replace, verifiedBy } = yield* anEndpoint(books)
      keyring.give()
      keyring.rotate()
      yield* replace(secretOf(2))
      assert.deepStrictEqual(yield* verifiedBy([secretOf(2), secretOf(1)]), [secretOf(2), secretOf(1)])
      keyring.finish()
      assert.deepStrictEqual(yield* verifiedBy([secretOf(2), secretOf(1)]), [secretOf(2), secretOf(1)])
    })
  )

  it.effect("R53: an unconfirmed address gets no email, a confirmed address does", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const books = yield* booksWith(rotatingKeyring())
      yield* books.setEmails(true)
      const addressOf = Effect.fnUntraced(function* (isConfirmed: boolean | undefined) {
        const account = yield* makeAccount({ plan: "trial" })
        if (isConfirmed !== undefined) {
          yield* sql`
            insert into auth_users (id, email, email_verified, name, created_at, updated_at)
            values (${account.id}, ${account.email}, ${isConfirmed}, '', now(), now())`
          yield* sql`
            insert into members (id, account_id, role, user_id, created_at)
            values (${account.id}, ${account.id}, 'owner', ${account.id}, now())`
        }
        yield* (yield* Ledger).grant(account.id, 1, "thanks")
        const [taken] = (yield* books.take(all, 60_000)).filter(({ event }) => event.accountId === account.id)
        return taken?.receiver._tag === "email" ? [taken.receiver.address, account.email] : assert.fail("no email")
      })
      assert.strictEqual((yield* addressOf(false))[0], undefined)
      for (const state of [true, undefined]) {
        const [address, email] = yield* addressOf(state)
        assert.strictEqual(address, email)
      }
      yield* books.setEmails(false)
    })
  )

  it.effect("R53: without the AUTH_SECRET that encrypted it a secret is not read, and a new one is", () =>
    Effect.gen(function* () {
      const keyring = rotatingKeyring()
      const books = yield* booksWith(keyring)
      const { replace, verifiedBy } = yield* anEndpoint(books)
      keyring.finish()
      assert.deepStrictEqual(yield* verifiedBy([secretOf(1)]), [])
      yield* replace(secretOf(2))
      assert.deepStrictEqual(yield* verifiedBy([secretOf(2), secretOf(1)]), [secretOf(2)])
    })
  )

  it.effect("R53, R56: secrets that cannot be read hold up no others in a rotation, and are counted", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const keyring = rotatingKeyring()
      const books = yield* booksWith(keyring)
      const endpoints = yield* Effect.replicateEffect(anEndpoint(books), 5)
      const damaged = endpoints
        .map(({ id }) => id)
        .toSorted()
        .slice(0, 3)
      yield* sql`update webhook_endpoints set secret = decode('00', 'hex') where ${sql.in("id", damaged)}`
      keyring.give()
      keyring.rotate()
      // Those of other tests are among them.
      const unreadable = yield* Effect.repeat(
        Effect.map(books.resealSecrets(2), ({ unreadable }) => unreadable),
        { until: (count) => count !== undefined }
      )
      assert.isAtLeast(unreadable ?? 0, 3)
      const [left] = yield* sql<{ ids: ReadonlyArray<string> }>`
        select array_agg(id order by id) as ids from webhook_endpoints
        where ${sql.in(
          "id",
          endpoints.map(({ id }) => id)
        )} and secret_key <> ${keyring.values()[0].fingerprint}`
      assert.deepStrictEqual(left?.ids, damaged)
    })
  )

  it.effect("R53: an encrypted secret that is copied to another endpoint does not open there", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const books = yield* booksWith(rotatingKeyring())
      const first = yield* anEndpoint(books)
      const second = yield* anEndpoint(books)
      yield* sql`
        update webhook_endpoints e set secret = o.secret from webhook_endpoints o
        where e.id = ${second.id} and o.id = ${first.id}`
      assert.deepStrictEqual(yield* second.verifiedBy([secretOf(1)]), [])
      assert.deepStrictEqual(yield* first.verifiedBy([secretOf(1)]), [secretOf(1)])
    })
  )
}
