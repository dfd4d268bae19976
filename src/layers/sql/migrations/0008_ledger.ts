import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Reserving and settling as they were (see 0001), but for what the comments below tell. */
export const ledger = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Planned once for each connection: planning anew took more than a third of a small batch's time. The one plan must be
  // right for tables of any size, so every way to read more than the rows of the batch is closed.
  const settings = sql.literal(`
    set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
    set enable_mergejoin = off set enable_material = off set lock_timeout = '2s'`)

  // Not waited for on disk: a hold that a crash of the server forgets is one that never was. It is set for the whole
  // transaction, so this must be a statement of its own; a `set` clause would be undone before the commit.
  yield* sql`
    create or replace function ledger_reserve(
      account_ids text[], hold_ids text[], amounts bigint[], moment timestamptz, lease_ms bigint
    )
    returns table (
      n bigint, status text, from_quota bigint, from_balance bigint, quota bigint, used bigint, balance bigint,
      plan text, cycle_start timestamptz, period_start timestamptz, period_end timestamptz
    )
    language plpgsql ${settings} as $$
    #variable_conflict use_variable
    declare
      request record;
      current_account text;
      held_ids text[] := '{}';
      held_accounts text[] := '{}';
      held_allowances bigint[] := '{}';
      held_quota bigint[] := '{}';
      held_balance bigint[] := '{}';
      held integer := 0;
    begin
      perform set_config('synchronous_commit', 'off', true);
      perform from wallets w where w.account_id = any (account_ids) order by w.account_id for update;
      for request in
        select r.n, r.hold_id, r.amount, r.account_id, a.plan, a.cycle_start, a.allowance_id, l.period_start,
          l.period_end, l.quota, l.used, w.balance, h.from_quota, h.from_balance
        from unnest(account_ids, hold_ids, amounts) with ordinality as r (account_id, hold_id, amount, n)
        left join accounts a on a.id = r.account_id and a.deleted_at is null
        left join wallets w on w.account_id = a.id
        left join allowances l on l.id = a.allowance_id
        left join holds h on h.id = r.hold_id
        order by r.account_id, r.n
      loop
        if request.account_id is distinct from current_account then
          current_account := request.account_id;
          plan := request.plan;
          cycle_start := request.cycle_start;
          period_start := request.period_start;
          period_end := request.period_end;
          quota := request.quota;
          used := request.used;
          balance := request.balance;
        end if;
        n := request.n;
        from_quota := 0;
        from_balance := 0;
        if balance is null then
          status := 'unknown';
          return next;
        elsif request.from_quota is not null then
          status := 'held';
          from_quota := request.from_quota;
          from_balance := request.from_balance;
          return next;
        elsif used is null or period_end <= moment then
          status := 'stale';
          return next;
        else
          from_quota := least(request.amount, coalesce(quota - used, request.amount));
          from_balance := request.amount - from_quota;
          if from_balance > balance then
            status := 'exceeded';
            return next;
          else
            status := 'held';
            return next;
            held := held + 1;
            held_ids[held] := request.hold_id;
            held_accounts[held] := request.account_id;
            held_allowances[held] := request.allowance_id;
            held_quota[held] := from_quota;
            held_balance[held] := from_balance;
            used := used + from_quota;
            balance := balance - from_balance;
          end if;
        end if;
      end loop;
      if held = 0 then
        return;
      end if;
      insert into holds (id, account_id, allowance_id, from_quota, from_balance, expires_at)
        select t.*, clock_timestamp() + lease_ms * interval '1 millisecond'
        from unnest(held_ids, held_accounts, held_allowances, held_quota, held_balance) as t;
      update allowances l set used = l.used + t.credits
        from (
          select h.id, sum(h.credits)::bigint as credits from unnest(held_allowances, held_quota) as h (id, credits)
          group by h.id
        ) as t
        where l.id = t.id and t.credits > 0;
      update wallets w set balance = w.balance - t.credits
        from (
          select h.id, sum(h.credits)::bigint as credits from unnest(held_accounts, held_balance) as h (id, credits)
          where h.credits > 0
          group by h.id
        ) as t
        where w.account_id = t.id;
    end $$`

  // The log is written by a statement of its own: without hash joins, joining what was asked with what was taken would
  // compare each with each.
  yield* sql`
    create or replace function ledger_settle(hold_ids text[], account_ids text[], charges bigint[], records json)
    returns table (n bigint, charged bigint, balance bigint)
    language plpgsql ${settings} as $$
    #variable_conflict use_column
    declare
      ended boolean[];
    begin
      perform from wallets w where w.account_id = any (account_ids) order by w.account_id for update;
      with asked as materialized (
        select * from unnest(hold_ids, charges) with ordinality as t (hold_id, charge, n)
      ), taken as (
        delete from holds h using asked where h.id = asked.hold_id
        returning asked.n, asked.charge, h.id, h.account_id, h.allowance_id, h.from_quota, h.from_balance,
          greatest(h.from_quota - asked.charge, 0) as to_quota,
          least(h.from_quota + h.from_balance - asked.charge, h.from_balance) as to_balance
      ), quota_back as (
        update allowances l set used = l.used - t.credits
        from (select allowance_id as id, sum(to_quota)::bigint as credits from taken group by 1) as t
        where l.id = t.id and t.credits > 0
      ), balance_back as (
        update wallets w set balance = w.balance + t.credits
        from (select account_id as id, sum(to_balance)::bigint as credits from taken group by 1) as t
        where w.account_id = t.id and t.credits > 0
      ), entered as (
        insert into ledger_entries (account_id, allowance_id, kind, quota_credits, balance_credits, cause)
        select account_id, allowance_id, 'search', from_quota - to_quota, to_balance - from_balance, id
        from taken where charge > 0
      )
      select array_agg(asked.n in (select taken.n from taken) order by asked.n) into ended from asked;
      insert into queries (
        id, hold_id, account_id, key_id, batch_id, target, query, geo, locale, page, num, safe, source, outcome,
        credits, cached, provider, result_count, duration_ms
      )
      select r.id, hold_ids[r.n], r.account_id, r.key_id, r.batch_id, r.target, r.query, r.geo, r.locale, r.page, r.num,
        r.safe, r.source, r.outcome, r.credits, r.cached, r.provider, r.result_count, r.duration_ms
      from json_to_recordset(records) as r (
        n bigint, id text, account_id text, key_id text, batch_id text, target text, query text, geo text,
        locale text, page integer, num integer, safe text, source text, outcome text, credits integer,
        cached boolean, provider text, result_count integer, duration_ms bigint
      )
      where ended[r.n];
      return query
        select t.n,
          case when ended[t.n] then t.charge
            else (select e.quota_credits - e.balance_credits from ledger_entries e where e.cause = t.hold_id) end,
          w.balance
        from unnest(hold_ids, account_ids, charges) with ordinality as t (hold_id, account_id, charge, n)
        left join wallets w on w.account_id = t.account_id;
    end $$`
})
