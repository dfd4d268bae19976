import { Duration, Effect, type Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { rowOf } from "../sql/Rows.ts"
import { digestOf } from "./betterAuth/Digest.ts"

export interface AttemptLimit {
  readonly name: string
  readonly max: number
  readonly window: Duration.Duration
}

/** As long as the longest window, so older rows no longer count. */
const rowLifetime = Duration.hours(24)

const maxDeletedRows = 1000

const countRow = rowOf(Schema.Struct({ count: Schema.Int, seconds: Schema.Int }))

const interval = (sql: SqlClient.SqlClient, duration: Duration.Duration) =>
  sql`${Duration.toMillis(duration)} * interval '1 millisecond'`

const deleteOldRows = (sql: SqlClient.SqlClient) => sql`
  delete from auth_attempts where digest in (
    select digest from auth_attempts where began_at < clock_timestamp() - ${interval(sql, rowLifetime)}
    limit ${maxDeletedRows} for update skip locked
  )`

/** Counts attempts in the database, so replicas share them and restarts keep them. Keys are stored as digests. */
export const makeAttempts = Effect.fnUntraced(function* (secret: Redacted.Redacted) {
  const sql = yield* SqlClient.SqlClient

  const digest = ({ name }: AttemptLimit, key: string) => digestOf(secret, name, key.trim().toLowerCase())

  /** Returns the seconds until the next allowed attempt, or undefined if this one is allowed. */
  const count = Effect.fnUntraced(function* (limit: AttemptLimit, key: string) {
    const window = interval(sql, limit.window)
    const row = yield* countRow(sql`
      insert into auth_attempts as a (digest, count, began_at)
      values (${digest(limit, key)}, 1, clock_timestamp())
      on conflict (digest) do update set
        count = case when a.began_at <= clock_timestamp() - ${window} then 1 else least(a.count + 1, ${limit.max + 1}) end,
        began_at = case when a.began_at <= clock_timestamp() - ${window} then clock_timestamp() else a.began_at end
      returning count, ceil(extract(epoch from began_at + ${window} - clock_timestamp()))::integer as seconds`)
    if (row === undefined || row.count === 1) yield* deleteOldRows(sql)
    return row !== undefined && row.count > limit.max ? Math.max(1, row.seconds) : undefined
  })

  /** True if another attempt would exceed the limit. */
  const isSpent = (limit: AttemptLimit, key: string) =>
    Effect.map(
      sql`
        select from auth_attempts where digest = ${digest(limit, key)} and count >= ${limit.max}
          and began_at > clock_timestamp() - ${interval(sql, limit.window)}`,
      (rows) => rows.length > 0
    )

  const uncount = (limit: AttemptLimit, key: string) =>
    sql`update auth_attempts set count = greatest(count - 1, 0) where digest = ${digest(limit, key)}`

  const forget = (limit: AttemptLimit, key: string) =>
    sql`delete from auth_attempts where digest = ${digest(limit, key)}`

  return { count, isSpent, uncount, forget }
})

export type Attempts = Effect.Success<ReturnType<typeof makeAttempts>>
