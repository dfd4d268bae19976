import { createHmac } from "node:crypto"
import { readFileSync } from "node:fs"
import { Effect, Redacted } from "effect"
import pg from "pg"
import { pepper } from "../../test/support/SqlStorage.ts"
import { type Customer, customer, open, type Store } from "../../test/torture/support/Store.ts"

/** Side by side: as many as the store has connections. */
const creationsAtOnce = 4

/** Accounts with a key each, far more credits than a run spends, and a rate limit far above what it is sent. */
export const inQuarry = Effect.fnUntraced(function* (databaseUrl: string, count: number) {
  const store: Store = yield* open(Redacted.make(databaseUrl))
  const customers = yield* Effect.all(
    Array.from({ length: count }, () => customer(store, { quota: 1_000_000_000 })),
    { concurrency: creationsAtOnce }
  )
  return { store, customers }
})

const schema = readFileSync(new URL("../baseline/schema.sql", import.meta.url), "utf8")

/** The same accounts with the same secrets for the baseline, in a database of its own. */
export const inBaseline = (
  databaseUrl: string,
  customers: ReadonlyArray<Customer & { readonly quota?: number; readonly concurrency?: number }>
) =>
  Effect.promise(async () => {
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    await client.query(schema)
    await client.query(
      `insert into accounts (id, plan, quota, concurrency, period_end)
       select id, 'custom', quota, concurrency, date_trunc('month', now(), 'utc') + interval '1 month'
       from unnest($1::text[], $2::bigint[], $3::integer[]) as t (id, quota, concurrency)`,
      [
        customers.map(({ accountId }) => accountId),
        customers.map(({ quota }) => quota ?? 1_000_000_000),
        customers.map(({ concurrency }) => concurrency ?? 10_000)
      ]
    )
    await client.query(
      `insert into api_keys (id, account_id, digest)
       select 'key_' || substr(md5(account_id), 1, 32), account_id, digest
       from unnest($1::text[], $2::bytea[]) as t (account_id, digest)`,
      [
        customers.map(({ accountId }) => accountId),
        customers.map(({ secret }) => createHmac("sha256", pepper).update(secret).digest())
      ]
    )
    await client.query("analyze")
    await client.end()
  })
