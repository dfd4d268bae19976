import { randomUUID, scrypt } from "node:crypto"
import { promisify } from "node:util"
import { type Array as Arr, Duration, Effect, Layer, Option, Redacted, Schedule, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type Keyring, Keyrings, type SecretName, type SecretValue, secretNames } from "../../services/Keyrings.ts"
import { SecretMismatch } from "../../services/SecretRotation.ts"
import { rowsOf } from "./Rows.ts"
import { retryTransient } from "./Transient.ts"

/** The values of each secret in the settings: one, or the new and the old. */
export type GivenSecrets = { readonly [Name in SecretName]: Arr.NonEmptyReadonlyArray<Redacted.Redacted> }

/** The time within which every process follows a rotation. */
export const followInterval = Duration.seconds(15)
/** Processes that were not seen for longer are gone; their rows are deleted. */
const forgottenMinutes = 10

const fingerprintBytes = 16
const derive = promisify<string, string, number, Buffer>(scrypt)

/** A fingerprint is slow to make, so that a copy of the database is of no use for guessing a secret. */
const fingerprintOf = (name: SecretName, secret: Redacted.Redacted) =>
  Effect.promise(async () =>
    (await derive(Redacted.value(secret), `quarry ${name} fingerprint`, fingerprintBytes)).toString("hex")
  )

export type FingerprintedSecrets = { readonly [Name in SecretName]: Arr.NonEmptyReadonlyArray<SecretValue> }

/** The values with their fingerprints. */
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

/** The fingerprints in use of each secret. */
export const readFingerprints = (sql: SqlClient.SqlClient) =>
  Effect.map(fingerprintRows(sql`select name, role, fingerprint from secret_fingerprints`), (rows) => {
    const find = (name: SecretName, role: string) =>
      rows.find((row) => row.name === name && row.role === role)?.fingerprint
    return (name: SecretName) => ({ current: find(name, "current"), previous: find(name, "previous") })
  })

/** A database without fingerprints takes these: of two values the second, which was in use before the first. */
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
      `${name} is not the one that the ${uses[name]} of this database were made with. Give that one again; to change it, ` +
      `give both as ${name}=new,old (${rotation}). If it is lost: npm run quarry -- secrets adopt --yes.`
  })

const previousMissing = (name: SecretName): SecretMismatch =>
  new SecretMismatch({
    message:
      `${name} is being rotated, and the old value is not given. Give both as ${name}=new,old until ` +
      `\`npm run quarry -- secrets finish\` has succeeded (${rotation}).`
  })

/** A keyring in the order that the store says; undefined when a value in use is not given. */
const order = (
  values: Arr.NonEmptyReadonlyArray<SecretValue>,
  current: string | undefined
): Arr.NonEmptyReadonlyArray<SecretValue> | undefined => {
  const first = values.find(({ fingerprint }) => fingerprint === current)
  return first === undefined ? undefined : [first, ...values.filter((value) => value !== first)]
}

/** Reports the values that this process has, and deletes the reports of processes that are gone. */
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

/** The part of a secret's values that this process may use now. */
interface State {
  readonly values: Arr.NonEmptyReadonlyArray<SecretValue>
  readonly isRotating: boolean
}

interface Deps {
  readonly sql: SqlClient.SqlClient
  readonly secrets: FingerprintedSecrets
  /** Changes as rotations begin and end. */
  readonly states: Record<SecretName, State>
}

type Fingerprints = Effect.Success<ReturnType<typeof readFingerprints>>

/** Fails where a value that is in use is not given. */
const stateOf = (
  name: SecretName,
  given: Arr.NonEmptyReadonlyArray<SecretValue>,
  fingerprints: Fingerprints
): Effect.Effect<State, SecretMismatch> => {
  const { current, previous } = fingerprints(name)
  const values = order(given, current)
  if (values === undefined) return Effect.fail(mismatch(name))
  const hasPrevious = previous === undefined || values.some(({ fingerprint }) => fingerprint === previous)
  return hasPrevious
    ? Effect.succeed({ values, isRotating: previous !== undefined })
    : Effect.fail(previousMissing(name))
}

/** Follows a rotation that has begun or ended. A process that lacks its value goes on with those that it has. */
const follow = Effect.fnUntraced(function* ({ secrets, sql, states }: Deps) {
  const fingerprints = yield* readFingerprints(sql)
  for (const name of secretNames) {
    const state = yield* Effect.option(stateOf(name, secrets[name], fingerprints))
    if (Option.isSome(state)) states[name] = state.value
    else yield* Effect.logError(`${name} was rotated to a value that this process was not given. Restart it with both.`)
  }
})

/** Reports the values of this process and follows rotations until the scope closes. */
const watch = Effect.fnUntraced(function* (deps: Deps) {
  const { secrets, sql } = deps
  const process = randomUUID()
  yield* retryTransient(report(sql, process, secrets))
  yield* Effect.addFinalizer(() => Effect.ignore(sql`delete from secret_holders where process = ${process}`))
  yield* Effect.andThen(report(sql, process, secrets), follow(deps)).pipe(
    Effect.catchCause((cause) => Effect.logDebug("The secrets in use could not be read.", cause)),
    Effect.delay(followInterval),
    Effect.repeat(Schedule.forever),
    Effect.forkScoped
  )
})

/**
 * The secrets that the database agrees to: another one than that in use ends the start (R56). A process with `reports`
 * looks every 15 seconds if a rotation has begun.
 */
export const layer = (
  given: GivenSecrets,
  options: { readonly reports: boolean }
): Layer.Layer<Keyrings, SecretMismatch | SqlError.SqlError, SqlClient.SqlClient> =>
  Layer.effect(
    Keyrings,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const secrets = yield* addFingerprints(given)
      yield* retryTransient(insertMissing(sql, secrets))
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
