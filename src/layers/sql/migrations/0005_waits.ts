import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const functions = [
  "ledger_reserve(text[], text[], bigint[], timestamptz, bigint)",
  "ledger_settle(text[], text[], bigint[], json)",
  "ledger_open(text[], text[], timestamptz[], timestamptz[], timestamptz[], timestamptz)",
  "ledger_grant(text, bigint, text, text)"
]

/**
 * What waits for a row that somebody else has locked gives up before the statement does, so that the caller learns
 * that it was a lock. The log's months wait shorter still: everything that writes to the log waits behind them.
 */
export const waits = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const name of functions) yield* sql`alter function ${sql.literal(name)} set lock_timeout = '2s'`
  for (const name of ["queries_make_partitions(timestamptz, integer)", "queries_drop_before(timestamptz)"]) {
    yield* sql`alter function ${sql.literal(name)} set lock_timeout = '500ms'`
  }

  // The sweep as it was, but for its moment: compared with clock_timestamp() itself, which may change from row to row,
  // no index is of use, and every sweep reads all that is left of the holds since the last vacuum.
  yield* sql`
    create or replace function ledger_sweep(most_accounts integer) returns bigint
    language plpgsql set lock_timeout = '2s' set enable_seqscan = off as $$
    declare
      moment timestamptz := clock_timestamp();
      free_accounts text[];
      swept bigint;
    begin
      select array_agg(t.account_id) into free_accounts from (
        select w.account_id from wallets w
        where w.account_id in (select distinct h.account_id from holds h where h.expires_at <= moment limit most_accounts)
        order by w.account_id for update skip locked
      ) as t;
      with taken as (
        delete from holds where account_id = any (free_accounts) and expires_at <= moment returning *
      ), quota_back as (
        update allowances l set used = l.used - t.credits
        from (select allowance_id as id, sum(from_quota)::bigint as credits from taken group by 1) as t
        where l.id = t.id
      ), balance_back as (
        update wallets w set balance = w.balance + t.credits
        from (select account_id as id, sum(from_balance)::bigint as credits from taken group by 1) as t
        where w.account_id = t.id
      )
      select count(*) into swept from taken;
      return swept;
    end $$`
})
