import { Duration, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { ifActing, logFailure, runRepeatedly } from "../../services/background.ts"
import type { Keyring } from "../../services/operations/Keyrings.ts"
import { rowsOf } from "../sql/Rows.ts"
import { versionOf } from "./betterAuth/Digest.ts"
import type { SecretOptions } from "./betterAuth/Options.ts"

const interval = Duration.seconds(30)

const maxRenewed = 1_000

const sealedRows = rowsOf(Schema.Struct({ id: Schema.String, secret: Schema.String, recovery_codes: Schema.String }))

/** Encrypts the secrets of authenticator apps again, with the AUTH_SECRET of a rotation (R56). */
export const renew = Effect.fnUntraced(function* (secrets: Keyring) {
  if (!secrets.isRotating()) return
  const sql = yield* SqlClient.SqlClient
  const [present] = secrets.values()
  const prefix = `$ba$${versionOf(present)}$`
  // In random order, so that rows whose secret is lost do not block the others.
  const rows = yield* sealedRows(sql`
    select id, secret, recovery_codes from auth_authenticators
    where not (starts_with(secret, ${prefix}) and starts_with(recovery_codes, ${prefix}))
    order by random() limit ${maxRenewed}`)
  if (rows.length === 0) return
  const { symmetricDecrypt, symmetricEncrypt } = yield* Effect.promise(() => import("better-auth/crypto"))
  const keys = new Map(secrets.values().map((value) => [versionOf(value), Redacted.value(value.secret)]))
  const key = { keys, currentVersion: versionOf(present) }
  const reseal = (data: string) =>
    Effect.tryPromise(async () => symmetricEncrypt({ key, data: await symmetricDecrypt({ key, data }) }))
  for (const { id, recovery_codes, secret } of rows) {
    const changes = Effect.all({ secret: reseal(secret), recovery_codes: reseal(recovery_codes) })
    yield* Effect.ignore(
      Effect.flatMap(
        changes,
        (changed) => sql`
          update auth_authenticators set ${sql.update(changed)}
          where id = ${id} and secret = ${secret} and recovery_codes = ${recovery_codes}`
      )
    )
  }
})

export const layer = ({ secrets }: Pick<SecretOptions, "secrets">): Layer.Layer<never, never, SqlClient.SqlClient> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const renewed = Effect.provideService(renew(secrets), SqlClient.SqlClient, sql)
      yield* ifActing(runRepeatedly(logFailure(renewed, "Second factors were not encrypted again."), interval))
    })
  )
