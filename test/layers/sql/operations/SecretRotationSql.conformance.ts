import { assert, type Vitest } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { GivenSecrets } from "../../../../src/layers/sql/operations/KeyringsSql.ts"
import * as KeyringsSql from "../../../../src/layers/sql/operations/KeyringsSql.ts"
import * as SecretRotationSql from "../../../../src/layers/sql/operations/SecretRotationSql.ts"
import { Keyrings } from "../../../../src/services/operations/Keyrings.ts"
import { SecretRotation } from "../../../../src/services/operations/SecretRotation.ts"

const pepper = [Redacted.make("a pepper that stays")] as const
const old: GivenSecrets = { KEY_PEPPER: pepper, AUTH_SECRET: [Redacted.make("old")] }
const both: GivenSecrets = { KEY_PEPPER: pepper, AUTH_SECRET: [Redacted.make("new"), Redacted.make("old")] }
const alone: GivenSecrets = { KEY_PEPPER: pepper, AUTH_SECRET: [Redacted.make("new")] }

/** Starts as a process with these secrets does, and answers its value of AUTH_SECRET that is in use. */
const start = (given: GivenSecrets) =>
  Effect.map(Keyrings, ({ AUTH_SECRET }) => Redacted.value(AUTH_SECRET.values()[0].secret)).pipe(
    Effect.provide(KeyringsSql.layer(given, { reports: false, writes: true }))
  )

/** A rotation of AUTH_SECRET by the database alone. */
export const secretRotationSqlConformance = (it: Vitest.MethodsNonLive<SqlClient.SqlClient>): void => {
  it.effect("R56: begins, lasts while a session needs the old value, and ends", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`delete from secret_fingerprints`
      // Those of other tests, whose secrets count.
      yield* sql`delete from webhook_endpoints`
      assert.strictEqual(yield* start(old), "old")
      assert.strictEqual((yield* Effect.flip(start(alone)))._tag, "SecretMismatch")
      assert.strictEqual(yield* start(both), "old")

      yield* Effect.gen(function* () {
        const rotation = yield* SecretRotation
        const status = Effect.map(rotation.status, (all) => all.find(({ name }) => name === "AUTH_SECRET"))
        assert.deepInclude(yield* status, { state: "given", remaining: 0 })
        yield* rotation.rotate
        assert.deepInclude(yield* status, { state: "rotating", remaining: 0 })
        assert.strictEqual(yield* start(both), "new")
        assert.match(String(yield* Effect.flip(start(alone))), /the old value is not given/)

        // A process follows a rotation within seconds. Until then it opens sessions with the old value.
        yield* sql`
          insert into auth_users (id, email, email_verified, name, created_at, updated_at)
          values ('rotated', 'rotated@example.org', true, '', clock_timestamp(), clock_timestamp())`
        yield* sql`
          insert into auth_sessions (id, user_id, digest, expires_at, created_at, updated_at)
          values ('rotated', 'rotated', '', 'infinity', clock_timestamp(), clock_timestamp())`
        assert.deepInclude(yield* status, { remaining: 1 })
        const early = yield* Effect.flip(rotation.finish({ force: false }))
        assert.match(
          early.message,
          /^1 sessions, refresh tokens, second factors and secrets of webhooks were not renewed since AUTH_SECRET was rotated/
        )

        yield* sql`update auth_sessions set updated_at = clock_timestamp() + interval '1 minute' where id = 'rotated'`
        const [settled] = (yield* rotation.finish({ force: false })).filter(({ name }) => name === "AUTH_SECRET")
        assert.deepInclude(settled, { state: "settled", remaining: 0 })
        assert.strictEqual(yield* start(alone), "new")
      }).pipe(Effect.provide(SecretRotationSql.layer(both)))

      yield* sql`delete from auth_users where id = 'rotated'`
      yield* sql`delete from secret_fingerprints`
    })
  )
}
