import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migrations from "../../src/layers/sql/Migrations.ts"
import * as Postgres from "../../src/layers/sql/store/Postgres.ts"
import { emptyDatabase } from "../../test/support/stores/Database.ts"

/** The time in which a store with so many people, each with a session, is migrated to members. */
const people = Number(process.argv[2] ?? 10_000)

const migrate = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* Migrations.runOnly(["0001_initial", "0002_app_use"])
  yield* sql`
    insert into accounts (id, email, plan, concurrency, created_at)
    select 'acc_' || n, n || '@example.com', 'free', 5, now() from generate_series(1, ${people}::int) as n`
  yield* sql`
    insert into auth_users (id, email, email_verified, name, account_id, created_at, updated_at)
    select 'usr_' || n, n || '@example.com', true, '', 'acc_' || n, now(), now() from generate_series(1, ${people}::int) as n`
  yield* sql`
    insert into auth_sessions (id, user_id, digest, created_at, updated_at, expires_at)
    select 'ses_' || n, 'usr_' || n, md5(n::text), now(), now(), now() + interval '1 day'
    from generate_series(1, ${people}::int) as n`
  const start = performance.now()
  yield* Migrations.run
  const [row] = yield* sql<{ readonly members: number }>`select count(*)::int as members from members`
  console.log(`${row?.members} people became members in ${Math.round(performance.now() - start)} ms.`)
})

await Effect.runPromise(
  Effect.scoped(
    Effect.flatMap(emptyDatabase, ({ url }) => Effect.provide(migrate, Postgres.layer({ url, poolSize: 2 })))
  )
)
