import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Wrong passwords and emails of one address. */
export const attempts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // digest: of what is counted, so that the table holds no address of somebody who is not known here.
  yield* sql`
    create table auth_attempts (
      digest text primary key,
      count integer not null,
      began_at timestamptz not null
    )`
  yield* sql`create index auth_attempts_began_at on auth_attempts (began_at)`
})
