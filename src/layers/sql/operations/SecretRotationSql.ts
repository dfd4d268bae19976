import { Duration, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type SecretName, secretNames } from "../../../services/operations/Keyrings.ts"
import { SecretMismatch, SecretRotation, type SecretStatus } from "../../../services/operations/SecretRotation.ts"
import { countOf, rowOf } from "../Rows.ts"
import { dieOnSqlError } from "../Transaction.ts"
import { retryTransient } from "../Transient.ts"
import {
  addFingerprints,
  type FingerprintedSecrets,
  followInterval,
  type GivenSecrets,
  insertMissing,
  readFingerprints
} from "./KeyringsSql.ts"

/** Processes report every 15 seconds. */
const seenSeconds = 60

/** Processes follow a rotation within half this time, and sign with the old value until then. */
const followSeconds = 2 * Duration.toSeconds(followInterval)

const holdersRow = rowOf(Schema.Struct({ processes: Schema.Int, without: Schema.Int }))

interface Deps {
  readonly sql: SqlClient.SqlClient
  readonly secrets: FingerprintedSecrets
}

/** A session's cookie is signed again when the session is extended. */
const countRemaining = (sql: SqlClient.SqlClient, name: SecretName) =>
  countOf(
    name === "KEY_PEPPER"
      ? sql`
            select count(*)::int as count from api_keys k
            join secret_fingerprints f on f.name = 'KEY_PEPPER' and f.role = 'current'
            where (k.revoked_at is null or k.revoked_at > clock_timestamp()) and k.pepper is distinct from f.fingerprint`
      : sql`
            with rotation as (
              select since + ${followSeconds} * interval '1 second' as seen_by_all, fingerprint,
                '$ba$' || ('x' || lpad(left(fingerprint, 8), 16, '0'))::bit(64)::bigint || '$' as prefix
              from secret_fingerprints
              where name = 'AUTH_SECRET' and role = 'current'
            )
            select (
              (select count(*) from auth_sessions s
                where s.expires_at > clock_timestamp() and s.updated_at < r.seen_by_all)
              + (select count(*) from auth_refresh_tokens t
                where t.expires_at > clock_timestamp() and t.revoked_at is null and t.created_at < r.seen_by_all)
              + (select count(*) from auth_authenticators a
                where not (starts_with(a.secret, r.prefix) and starts_with(a.recovery_codes, r.prefix)))
              + (select count(*) from webhook_endpoints w where w.secret_key is distinct from r.fingerprint)
            )::int as count
            from rotation r`
  )

const statusOf = Effect.fnUntraced(function* (
  { secrets, sql }: Deps,
  name: SecretName
): Effect.fn.Return<SecretStatus & { readonly newest: string }, SqlError.SqlError> {
  const { current, previous } = (yield* readFingerprints(sql))(name)
  const newest = secrets[name][0].fingerprint
  const holders = yield* holdersRow(sql`
    select count(*)::int as processes, count(*) filter (where not ${newest} = any (fingerprints))::int as without
    from secret_holders
    where name = ${name} and seen_at > clock_timestamp() - ${seenSeconds} * interval '1 second'`)
  return {
    name,
    newest,
    state: previous !== undefined ? "rotating" : newest === current ? "settled" : "given",
    processes: holders?.processes ?? 0,
    processesWithout: holders?.without ?? 0,
    remaining: previous === undefined ? 0 : yield* countRemaining(sql, name)
  }
})

const statuses = (deps: Deps) => Effect.forEach(secretNames, (name) => statusOf(deps, name))

const rotate = Effect.fnUntraced(function* (deps: Deps) {
  const { sql } = deps
  const given = (yield* statuses(deps)).filter(({ state }) => state === "given")
  for (const { name, newest, processesWithout } of given) {
    if (processesWithout > 0) {
      return yield* new SecretMismatch({
        message: `${processesWithout} running processes do not have the new ${name}: restart them with ${name}=new,old first.`
      })
    }
    yield* sql`
      insert into secret_fingerprints (name, role, fingerprint)
      select name, 'previous', fingerprint from secret_fingerprints where name = ${name} and role = 'current'`
    yield* sql`
      update secret_fingerprints set fingerprint = ${newest}, since = clock_timestamp()
      where name = ${name} and role = 'current'`
  }
  return yield* statuses(deps)
})

const finish = Effect.fnUntraced(function* (deps: Deps, force: boolean) {
  for (const { name, remaining, state } of yield* statuses(deps)) {
    if (state !== "rotating") continue
    if (remaining > 0 && !force) {
      const what =
        name === "KEY_PEPPER"
          ? "API keys were not used"
          : "sessions, refresh tokens, second factors and secrets of webhooks were not renewed"
      return yield* new SecretMismatch({
        message: `${remaining} ${what} since ${name} was rotated. Wait until they are, or end them: npm run quarry -- secrets finish --force.`
      })
    }
    yield* deps.sql`delete from secret_fingerprints where name = ${name} and role = 'previous'`
  }
  return yield* statuses(deps)
})

const adopt = Effect.fnUntraced(function* (deps: Deps) {
  yield* deps.sql`delete from secret_fingerprints`
  yield* insertMissing(deps.sql, deps.secrets)
  return yield* statuses(deps)
})

/** Depends only on settings, so that it works when startup fails because of a secret. */
export const layer = (given: GivenSecrets): Layer.Layer<SecretRotation, never, SqlClient.SqlClient> =>
  Layer.effect(
    SecretRotation,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const deps: Deps = { sql, secrets: yield* addFingerprints(given) }
      const once = <A, E>(effect: Effect.Effect<A, E | SqlError.SqlError>) =>
        sql.withTransaction(Effect.andThen(sql`select from secret_fingerprints order by name, role for update`, effect))
      return SecretRotation.of({
        status: Effect.orDie(retryTransient(statuses(deps))),
        rotate: dieOnSqlError(once(rotate(deps))),
        finish: ({ force }) => dieOnSqlError(once(finish(deps, force))),
        adopt: Effect.orDie(once(adopt(deps)))
      })
    })
  )
