import { Duration, Effect, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { digestOf } from "./Digest.ts"

export interface AttemptLimit {
  readonly name: string
  readonly max: number
  /** From the first attempt on. The next attempt after it begins another. */
  readonly window: Duration.Duration
}

/** Longer than any window, so that a row that is removed is over. */
const kept = Duration.hours(24)

/** Rows that one request clears away at most. */
const cleared = 1000

/** Counts attempts under an address, in the database: all replicas share the count, and its clock. */
export const makeAttempts = Effect.fnUntraced(function* (secret: Redacted.Redacted) {
  const sql = yield* SqlClient.SqlClient

  /** Alike in any letter case, as addresses are. */
  const digest = ({ name }: AttemptLimit, email: string) => digestOf(secret, name, email.trim().toLowerCase())

  const clear = sql`
    delete from auth_attempts where digest in (
      select digest from auth_attempts
      where began_at < clock_timestamp() - ${Duration.toMillis(kept)} * interval '1 millisecond'
      limit ${cleared} for update skip locked
    )`

  /** Counts one more. Answers the seconds until one is admitted again, or undefined when this one is. */
  const count = Effect.fnUntraced(function* (limit: AttemptLimit, email: string) {
    const window = sql`${Duration.toMillis(limit.window)} * interval '1 millisecond'`
    const [row] = yield* sql<{ readonly count: number; readonly seconds: number }>`
      insert into auth_attempts as a (digest, count, began_at)
      values (${digest(limit, email)}, 1, clock_timestamp())
      on conflict (digest) do update set
        count = case when a.began_at <= clock_timestamp() - ${window} then 1 else least(a.count + 1, ${limit.max + 1}) end,
        began_at = case when a.began_at <= clock_timestamp() - ${window} then clock_timestamp() else a.began_at end
      returning count, ceil(extract(epoch from began_at + ${window} - clock_timestamp()))::integer as seconds`
    if (row === undefined || row.count === 1) yield* clear
    return row !== undefined && row.count > limit.max ? Math.max(1, row.seconds) : undefined
  })

  const forget = (limit: AttemptLimit, email: string) =>
    sql`delete from auth_attempts where digest = ${digest(limit, email)}`

  return { count, forget }
})

export type Attempts = Effect.Success<ReturnType<typeof makeAttempts>>
