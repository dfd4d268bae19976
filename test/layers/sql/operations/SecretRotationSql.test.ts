import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as SecretRotationSql from "../../../../src/layers/sql/operations/SecretRotationSql.ts"
import { SecretRotation } from "../../../../src/services/operations/SecretRotation.ts"
import { makeBrowser, makeReplica } from "../../../support/accounts/SignIn.ts"
import { makeEmail } from "../../../support/api/searches.ts"
import * as EmbeddedDatabase from "../../../support/stores/EmbeddedDatabase.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"

const values = (name: string) => Redacted.make(`${name} of at least thirty-two characters`)

const rotationWith = (...names: readonly [string, ...Array<string>]) => {
  const [first, ...others] = names
  const secret = [values(first), ...others.map(values)] as const
  return Effect.map(
    Layer.build(SecretRotationSql.layer({ KEY_PEPPER: [values("pepper")], AUTH_SECRET: secret })),
    (context) => Context.get(context, SecretRotation)
  )
}

layer(SqlStorage.layer(EmbeddedDatabase.layer))("SecretRotationSql", (it) => {
  it.effect("R56: a session that a process opened before it saw the rotation still waits for its new cookie", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* (yield* rotationWith("old")).adopt
      const rotation = yield* rotationWith("new", "old")
      yield* rotation.rotate
      const replica = yield* makeReplica()
      yield* makeBrowser().signUp(replica, yield* makeEmail)
      const remaining = Effect.map(rotation.status, (all) => all.find(({ name }) => name === "AUTH_SECRET")?.remaining)
      assert.strictEqual(yield* remaining, 1)
      yield* sql`update auth_sessions set updated_at = updated_at + interval '1 minute'`
      assert.strictEqual(yield* remaining, 0)
    })
  )
})
