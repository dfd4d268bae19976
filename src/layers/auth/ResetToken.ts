import { Duration, type Redacted } from "effect"
import type { SqlClient } from "effect/sql"
import { digestOf } from "./betterAuth/Digest.ts"

export const linkLifetime = Duration.hours(1)

/** 32 letters and digits have 190 bits, too many to guess. */
export const tokenCharacters = 32

/** In the library's format for password resets, which accept a token once. */
export const storeResetToken = (sql: SqlClient.SqlClient, secret: Redacted.Redacted, token: string, userId: string) => {
  const digest = digestOf(secret, "verification", `reset-password:${token}`)
  const lifetime = sql`${Duration.toMillis(linkLifetime)} * interval '1 millisecond'`
  return sql<{ readonly expires_at: Date }>`
    insert into auth_verifications (id, digest, value, expires_at, created_at, updated_at)
    values (${digest}, ${digest}, ${userId}, clock_timestamp() + ${lifetime}, clock_timestamp(), clock_timestamp())
    returning expires_at`
}
