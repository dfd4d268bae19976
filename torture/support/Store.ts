import { randomUUID } from "node:crypto"
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Postgres from "../../src/layers/sql/store/Postgres.ts"
import { Accounts } from "../../src/services/accounts/Accounts.ts"
import { Ledger } from "../../src/services/credits/Ledger.ts"
import { Ids } from "../../src/services/Ids.ts"
import { KeyStore } from "../../src/services/keys/KeyStore.ts"
import { EventBooks } from "../../src/services/webhooks/EventBooks.ts"
import * as SqlStorage from "../../test/support/stores/SqlStorage.ts"

/** Direct access to the database, without sweeping. */
export const open = Effect.fnUntraced(function* (url: Redacted.Redacted) {
  const context = yield* Layer.build(SqlStorage.layer(Postgres.layer({ url, poolSize: 4 })))
  return {
    url,
    sql: Context.get(context, SqlClient.SqlClient),
    accounts: Context.get(context, Accounts),
    events: Context.get(context, EventBooks),
    ids: Context.get(context, Ids),
    keys: Context.get(context, KeyStore),
    ledger: Context.get(context, Ledger)
  }
})

export type Store = Effect.Success<ReturnType<typeof open>>

export interface Customer {
  readonly accountId: string
  readonly secret: string
}

/** An account with a key. Its rate limit exceeds what one process is sent in a run. */
export const customer = Effect.fnUntraced(function* (
  store: Store,
  credits: { readonly quota: number; readonly packs?: number; readonly concurrency?: number }
) {
  const account = yield* store.accounts.create({
    email: `${randomUUID()}@torture.test`,
    plan: "custom",
    quota: credits.quota,
    concurrency: credits.concurrency ?? 10_000
  })
  if (credits.packs !== undefined) yield* store.ledger.grant(account.id, credits.packs, "torture")
  const { secret } = yield* store.keys.create(account.id, { label: "torture", mode: "live" })
  const customer: Customer = { accountId: account.id, secret: Redacted.value(secret) }
  return customer
})
