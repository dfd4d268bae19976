import { Duration, Effect, type Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { refreshTokenPrefix } from "../../../domain/accounts/OAuth.ts"
import { rowOf } from "../../sql/Rows.ts"
import type { AttemptLimit } from "../Attempts.ts"
import { digestOf } from "../betterAuth/Digest.ts"

/**
 * A refresh token used again within this time of its first use is a retry after a lost response, or another call of a
 * program whose access token has expired. Used later, it counts as stolen (R79).
 */
const repeatable = Duration.seconds(60)

/** Of one app and token. Each repeat stores a pair of tokens. */
export const repeatLimit: AttemptLimit = { name: "refresh-repeats", max: 60, window: Duration.minutes(1) }

const FamilyRow = Schema.Struct({
  id: Schema.String,
  user_id: Schema.String,
  client_id: Schema.String,
  code_digest: Schema.NullOr(Schema.String),
  is_late: Schema.Boolean
})
const familyRow = rowOf(FamilyRow)

/** A refresh token's row. A family is all tokens that come from one authorization code. */
export type Family = typeof FamilyRow.Type

const firstUseRow = rowOf(Schema.Struct({ rotated_at: Schema.NullOr(Schema.Date) }))

/** The library replaces a refresh token at each use, and rejects it afterwards. This lets it be used again for a while. */
export const makeRefreshTokens = Effect.fnUntraced(function* (secret: Redacted.Redacted) {
  const sql = yield* SqlClient.SqlClient

  const find = (clientId: string, token: string) =>
    familyRow(sql`
      select id, user_id, client_id, code_digest,
        coalesce(
          rotated_at < clock_timestamp() - ${Duration.toMillis(repeatable)} * interval '1 millisecond',
          revoked_at is not null
        ) as is_late
      from auth_refresh_tokens
      where digest = ${digestOf(secret, "refresh_token", token.replace(refreshTokenPrefix, ""))}
        and client_id = ${clientId} and expires_at > clock_timestamp()`)

  /**
   * Returns the time of the token's first use, if any, and lets the library use it again until `finish`. Runs in the
   * transaction of the use, so simultaneous uses wait here. Locks the person first, like `endTokens`, to avoid
   * deadlocks.
   */
  const begin = Effect.fnUntraced(function* ({ id, user_id }: Family) {
    yield* sql`select 1 from auth_users where id = ${user_id} for key share`
    const row = yield* firstUseRow(sql`select rotated_at from auth_refresh_tokens where id = ${id} for update`)
    const firstUse = row?.rotated_at ?? undefined
    if (firstUse !== undefined) yield* sql`update auth_refresh_tokens set revoked_at = null where id = ${id}`
    return firstUse
  })

  /** Keeps the time of the first use. A first use that failed leaves the token unused. */
  const finish = ({ id }: Family, firstUse: Date | undefined) => {
    const usedAt = firstUse === undefined ? sql`clock_timestamp()` : sql`${firstUse}::timestamptz`
    return sql`
      update auth_refresh_tokens set revoked_at = ${usedAt}, rotated_at = ${usedAt} where id = ${id} and rotated_at is not null`
  }

  /** Locks the person, and so waits for refreshes of the family, whose new tokens would otherwise remain. */
  const end = Effect.fnUntraced(function* ({ client_id, code_digest, user_id }: Omit<Family, "id" | "is_late">) {
    yield* sql`select 1 from auth_users where id = ${user_id} for update`
    for (const table of ["auth_access_tokens", "auth_refresh_tokens"]) {
      yield* sql`
        delete from ${sql(table)} where user_id = ${user_id} and client_id = ${client_id}
          and code_digest is not distinct from ${code_digest}::text`
    }
  })

  /** Waits for refreshes of the tokens that a code was redeemed for, because using the code again ends them. */
  const lockFamilyOf = (code: string) => sql`
    select 1 from auth_users where id in (
      select user_id from auth_refresh_tokens where code_digest = ${digestOf(secret, "authorization_code", code)}
    ) for update`

  return { find, begin, finish, end, lockFamilyOf }
})

export type RefreshTokens = Effect.Success<ReturnType<typeof makeRefreshTokens>>
