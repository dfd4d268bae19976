import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Marketplace subscribers, and what the dashboard reads of the query log. */
export const callers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`alter table accounts add column if not exists marketplace_user text`
  // One account for each subscriber, however many replicas see one for the first time at once.
  yield* sql`
    create unique index if not exists accounts_marketplace_user on accounts (marketplace_user) where marketplace_user is not null`

  // The order of the log to its last tie, so that a page begins where the one before ended without sorting anything.
  yield* sql`create index if not exists queries_history on queries (account_id, created_at desc, ordinal desc)`
  yield* sql`drop index if exists queries_account`
  // A batch is at most 50 entries, anywhere in the log.
  yield* sql`create index if not exists queries_batch on queries (batch_id) where batch_id is not null`
})
