import { randomUUID, scrypt } from "node:crypto"
import { promisify } from "node:util"
import { type Array as Arr, Duration, Effect, Layer, Option, Redacted, Schedule, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { runInBackground } from "../../../services/background.ts"
import {
  type Keyring,
  Keyrings,
  type SecretName,
  type SecretValue,
  secretNames
} from "../../../services/operations/Keyrings.ts"
import { SecretMismatch } from "../../../services/operations/SecretRotation.ts"
import { rowsOf } from "../Rows.ts"
import { retryTransient } from "../Transient.ts"

export type GivenSecrets = { readonly [Name in SecretName]: Arr.NonEmptyReadonlyArray<Redacted.Redacted> }

/** Maximum time until every process follows a rotation. */
export const followInterval = Duration.seconds(15)
/** After this, the row of a process that no longer reports is deleted. */
const forgottenMinutes = 10

const fingerprintBytes = 16
const derive = promisify<string, string, number, Buffer>(scrypt)

/** Deliberately slow to compute, so that a copy of the database does not help to guess a secret. */
const fingerprintOf = (name: SecretName, secret: Redacted.Redacted) =>
  Effect.promise(async () =>
    (await derive(Redacted.value(secret), `quarry ${name} fingerprint`, fingerprintBytes)).toString("hex")
  )

export type FingerprintedSecrets = { readonly [Name in SecretName]: Arr.NonEmptyReadonlyArray<SecretValue> }

export const addFingerprints = (given: GivenSecrets): Effect.Effect<FingerprintedSecrets> => {
  const all = (name: SecretName) =>
    Effect.forEach(given[name], (secret) =>
      Effect.map(fingerprintOf(name, secret), (fingerprint) => ({ secret, fingerprint }))
    )
  return Effect.all({ KEY_PEPPER: all("KEY_PEPPER"), AUTH_SECRET: all("AUTH_SECRET") }, { concurrency: 2 })
}

const fingerprintRows = rowsOf(
  Schema.Struct({
    name: Schema.Literals(secretNames),
    role: Schema.Literals(["current", "previous"]),
    fingerprint: Schema.String
  })
)

export const readFingerprints = (sql: SqlClient.SqlClient) =>
  Effect.map(fingerprintRows(sql`select name, role, fingerprint from secret_fingerprints`), (rows) => {
    const find = (name: SecretName, role: string) =>
      rows.find((row) => row.name === name && row.role === role)?.fingerprint
    return (name: SecretName) => ({ current: find(name, "current"), previous: find(name, "previous") })
  })

/** For a database without fingerprints. Of two configured values, the second was in use first. */
export const insertMissing = (sql: SqlClient.SqlClient, secrets: FingerprintedSecrets) =>
  Effect.forEach(
    secretNames,
    (name) => sql`
      insert into secret_fingerprints (name, role, fingerprint)
      values (${name}, 'current', ${secrets[name].at(-1)?.fingerprint ?? ""}) on conflict do nothing`,
    { discard: true }
  )

const uses = { KEY_PEPPER: "API keys", AUTH_SECRET: "sessions" }
const rotation = "see docs/operate/rotation.md"

const mismatch = (name: SecretName): SecretMismatch =>
  new SecretMismatch({
    message:
      `${name} is not the secret that the ${uses[name]} of this database were made with. Set that secret again; to change it, ` +
      `give both as ${name}=new,old (${rotation}). If it is lost: npm run quarry -- secrets adopt --yes.`
  })

const previousMissing = (name: SecretName): SecretMismatch =>
  new SecretMismatch({
    message:
      `${name} is being rotated, and the old value is not given. Give both as ${name}=new,old until ` +
      `\`npm run quarry -- secrets finish\` has succeeded (${rotation}).`
  })

/** Orders the values as in the database. Undefined if the current value is not configured. */
const order = (
  values: Arr.NonEmptyReadonlyArray<SecretValue>,
  current: string | undefined
): Arr.NonEmptyReadonlyArray<SecretValue> | undefined => {
  const first = values.find(({ fingerprint }) => fingerprint === current)
  return first === undefined ? undefined : [first, ...values.filter((value) => value !== first)]
}

const report = (sql: SqlClient.SqlClient, process: string, secrets: FingerprintedSecrets) =>
  Effect.andThen(
    Effect.forEach(
      secretNames,
      (name) => sql`
        insert into secret_holders (process, name, fingerprints, seen_at)
        values (${process}, ${name}, ${secrets[name].map(({ fingerprint }) => fingerprint)}::text[], clock_timestamp())
        on conflict (process, name) do update set seen_at = excluded.seen_at`
    ),
    sql`delete from secret_holders where seen_at < clock_timestamp() - ${forgottenMinutes} * interval '1 minute'`
  )

interface State {
  readonly values: Arr.NonEmptyReadonlyArray<SecretValue>
  readonly isRotating: boolean
}

interface Deps {
  readonly sql: SqlClient.SqlClient
  readonly secrets: FingerprintedSecrets
  readonly states: Record<SecretName, State>
}

type Fingerprints = Effect.Success<ReturnType<typeof readFingerprints>>

/** In a new database, the last configured value counts as current, as in `insertMissing`. */
const stateOf = (
  name: SecretName,
  given: Arr.NonEmptyReadonlyArray<SecretValue>,
  fingerprints: Fingerprints
): Effect.Effect<State, SecretMismatch> => {
  const { current = given.at(-1)?.fingerprint, previous } = fingerprints(name)
  const values = order(given, current)
  if (values === undefined) return Effect.fail(mismatch(name))
  const hasPrevious = previous === undefined || values.some(({ fingerprint }) => fingerprint === previous)
  return hasPrevious
    ? Effect.succeed({ values, isRotating: previous !== undefined })
    : Effect.fail(previousMissing(name))
}

/** A process without the new value keeps using its own. */
const follow = Effect.fnUntraced(function* ({ secrets, sql, states }: Deps) {
  const fingerprints = yield* readFingerprints(sql)
  for (const name of secretNames) {
    const state = yield* Effect.option(stateOf(name, secrets[name], fingerprints))
    if (Option.isSome(state)) states[name] = state.value
    else
      yield* Effect.logError(
        `${name} was rotated to a value that this process does not have. Restart it with both values.`
      )
  }
})

const watch = Effect.fnUntraced(function* (deps: Deps) {
  const { secrets, sql } = deps
  const process = randomUUID()
  yield* retryTransient(report(sql, process, secrets))
  yield* Effect.addFinalizer(() => Effect.ignore(sql`delete from secret_holders where process = ${process}`))
  yield* Effect.andThen(report(sql, process, secrets), follow(deps)).pipe(
    Effect.catchCause((cause) => Effect.logDebug("The secrets in use could not be read.", cause)),
    Effect.delay(followInterval),
    Effect.repeat(Schedule.forever),
    runInBackground
  )
})

/** Fails without the database's current secret (R56). `reports` follows rotations, and `writes` adds fingerprints. */
export const layer = (
  given: GivenSecrets,
  options: { readonly reports: boolean; readonly writes: boolean }
): Layer.Layer<Keyrings, SecretMismatch | SqlError.SqlError, SqlClient.SqlClient> =>
  Layer.effect(
    Keyrings,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const secrets = yield* addFingerprints(given)
      if (options.writes) yield* retryTransient(insertMissing(sql, secrets))
      const fingerprints = yield* retryTransient(readFingerprints(sql))
      const states = {
        KEY_PEPPER: yield* stateOf("KEY_PEPPER", secrets.KEY_PEPPER, fingerprints),
        AUTH_SECRET: yield* stateOf("AUTH_SECRET", secrets.AUTH_SECRET, fingerprints)
      }
      if (options.reports) yield* watch({ sql, secrets, states })
      const keyring = (name: SecretName): Keyring => ({
        values: () => states[name].values,
        isRotating: () => states[name].isRotating
      })
      return Keyrings.of({ KEY_PEPPER: keyring("KEY_PEPPER"), AUTH_SECRET: keyring("AUTH_SECRET") })
    })
  )
