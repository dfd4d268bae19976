import { createHmac, randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { Effect, Redacted } from "effect"
import pg from "pg"
import { makeSecret } from "../../src/domain/keys/ApiKey.ts"
import { pepper } from "../../test/support/stores/SqlStorage.ts"
import { type Customer, customer, open, type Store } from "../../torture/support/Store.ts"

/** Concurrency: as many as the store has connections. */
const creationsAtOnce = 4

/** Creates accounts with a key each, with far more credits and a far higher rate limit than a run needs. */
export const inQuarry = Effect.fnUntraced(function* (databaseUrl: string, count: number) {
  const store: Store = yield* open(Redacted.make(databaseUrl))
  const customers = yield* Effect.all(
    Array.from({ length: count }, () => customer(store, { quota: 1_000_000_000 })),
    { concurrency: creationsAtOnce }
  )
  return { store, customers }
})

const digestOf = (secret: string): Buffer => createHmac("sha256", pepper).update(secret).digest()

const crowdPart = 20_000

/** The same, written straight into the tables: the services make some hundred accounts a second. Answers the secrets. */
export const crowdInQuarry = (databaseUrl: string, count: number): Effect.Effect<ReadonlyArray<string>> =>
  Effect.promise(async () => {
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    const secrets = Array.from({ length: count }, () => makeSecret("live", randomBytes(32)))
    // Each new key creates an event that has no receiver here.
    await client.query("alter table api_keys disable trigger user")
    for (let from = 0; from < count; from += crowdPart) {
      const digests = secrets.slice(from, from + crowdPart).map(digestOf)
      await client.query(
        `with member as (
           select 'acc_' || lpad(to_hex($2::bigint + number), 32, '0') as account_id,
             'key_' || lpad(to_hex($2::bigint + number), 32, '0') as key_id, digest
           from unnest($1::bytea[]) with ordinality as t (digest, number)
         ), account as (
           insert into accounts (id, email, plan, quota, concurrency, quota_agreed, concurrency_agreed, created_at)
           select account_id, account_id || '@bench.test', 'custom', 1000000000, 10000, true, true, now() from member
         ), wallet as (
           insert into wallets (account_id) select account_id from member
         )
         insert into api_keys (id, account_id, label, mode, digest, hint, created_at)
         select key_id, account_id, 'bench', 'live', digest, '', now() from member`,
        [digests, from]
      )
    }
    await client.query("alter table api_keys enable trigger user")
    await client.query("analyze")
    await client.end()
    return secrets
  })

const schema = readFileSync(new URL("../baseline/schema.sql", import.meta.url), "utf8")

/** Creates the same accounts with the same secrets in the baseline's database. */
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
      [customers.map(({ accountId }) => accountId), customers.map(({ secret }) => digestOf(secret))]
    )
    await client.query("analyze")
    await client.end()
  })
