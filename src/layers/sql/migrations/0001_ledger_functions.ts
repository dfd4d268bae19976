import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * The ledger's arithmetic where the rows are, so that a batch of any size is one round trip.
 *
 * Every function locks the wallets of its accounts first, in id order, then touches holds, then allowances: replicas
 * that follow one order cannot deadlock. What it reads it reads after the lock, in a statement of its own, and so with
 * a snapshot that no other ledger operation on these accounts can outdate.
 *
 * Reserving and settling look rows up by key and nothing else. They say so to the planner, which without statistics (a
 * new database, or PGlite, which never gathers any) would now and then read a whole table for each batch.
 */
export const ledgerFunctions = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Walks each account's requests in arrival order and takes what fits, all or nothing, quota before balance (R30).
  // A hold that is there already is a retry after a lost connection and is answered again. `stale`: the allowance has
  // ended, the caller opens the next one and asks again.
  yield* sql`
    create function ledger_reserve(
      account_ids text[], hold_ids text[], amounts bigint[], moment timestamptz, lease_ms bigint
    )
    returns table (
      n bigint, status text, from_quota bigint, from_balance bigint, quota bigint, used bigint, balance bigint,
      plan text, cycle_start timestamptz, period_start timestamptz, period_end timestamptz
    )
    language plpgsql set enable_seqscan = off set enable_mergejoin = off as $$
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

  // Ends holds: charges, gives the rest back (pack credits first, R30), writes the entries and the log. `charged` is
  // null where the hold had expired: nothing happened to it. A hold that an earlier call settled answers that charge.
  yield* sql`
    create function ledger_settle(hold_ids text[], account_ids text[], charges bigint[], records json)
    returns table (n bigint, charged bigint, balance bigint)
    language plpgsql set enable_seqscan = off set enable_mergejoin = off as $$
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
      ), logged as (
        insert into queries (
          id, hold_id, account_id, key_id, batch_id, target, query, geo, locale, page, num, safe, source, outcome,
          credits, cached, provider, result_count, duration_ms
        )
        select r.id, t.id, r.account_id, r.key_id, r.batch_id, r.target, r.query, r.geo, r.locale, r.page, r.num,
          r.safe, r.source, r.outcome, r.credits, r.cached, r.provider, r.result_count, r.duration_ms
        from json_to_recordset(records) as r (
          n bigint, id text, account_id text, key_id text, batch_id text, target text, query text, geo text,
          locale text, page integer, num integer, safe text, source text, outcome text, credits integer,
          cached boolean, provider text, result_count integer, duration_ms bigint
        )
        join taken t on t.n = r.n
      )
      select array_agg(taken.n is not null order by asked.n) into ended from asked left join taken on taken.n = asked.n;
      return query
        select t.n,
          case when ended[t.n] then t.charge
            else (select e.quota_credits - e.balance_credits from ledger_entries e where e.cause = t.hold_id) end,
          w.balance
        from unnest(hold_ids, account_ids, charges) with ordinality as t (hold_id, account_id, charge, n)
        left join wallets w on w.account_id = t.account_id;
    end $$`

  // Opens the allowance of each account's next period and points the account at it. A period that was computed from
  // terms which have changed since, or that is already over or open, is left alone: the pointer only moves forward.
  yield* sql`
    create function ledger_open(
      account_ids text[], plans text[], cycle_starts timestamptz[], starts timestamptz[], ends timestamptz[],
      moment timestamptz
    )
    returns void language plpgsql as $$
    begin
      perform from wallets w where w.account_id = any (account_ids) order by w.account_id for update;
      with wanted as materialized (
        select distinct on (a.id) a.id, a.quota, t.period_start, t.period_end
        from unnest(account_ids, plans, cycle_starts, starts, ends)
          as t (account_id, plan, cycle_start, period_start, period_end)
        join accounts a on a.id = t.account_id and a.plan = t.plan and a.cycle_start is not distinct from t.cycle_start
        left join allowances l on l.id = a.allowance_id
        where l.id is null or (l.period_end <= moment and l.period_start < t.period_start)
      ), opened as (
        insert into allowances (scope, period_start, period_end, quota)
        select id, period_start, period_end, quota from wanted
        on conflict (scope, period_start) do update set period_end = excluded.period_end
        returning id, scope
      )
      update accounts a set allowance_id = opened.id from opened where a.id = opened.scope;
    end $$`

  // Adds pack credits; null for an unknown account. The same cause twice adds once.
  yield* sql`
    create function ledger_grant(account text, credits bigint, why text, grant_cause text)
    returns bigint language plpgsql as $$
    begin
      perform from wallets w join accounts a on a.id = w.account_id
        where w.account_id = account and a.deleted_at is null for update of w;
      if not found then
        return null;
      end if;
      insert into ledger_entries (account_id, kind, quota_credits, balance_credits, cause, reason)
        values (account, 'grant', 0, credits, grant_cause, why)
        on conflict (cause) do nothing;
      if found then
        update wallets set balance = balance + credits where account_id = account;
      end if;
      return (select balance from wallets where account_id = account);
    end $$`

  // Gives back expired holds. An account whose wallet is locked is busy and waits for the next sweep, or is being swept
  // by another replica: nobody waits for anybody, and no hold is returned twice.
  yield* sql`
    create function ledger_sweep(most_accounts integer) returns bigint language plpgsql as $$
    declare
      free_accounts text[];
      swept bigint;
    begin
      select array_agg(t.account_id) into free_accounts from (
        select w.account_id from wallets w
        where w.account_id in (
          select distinct h.account_id from holds h where h.expires_at <= clock_timestamp() limit most_accounts
        )
        order by w.account_id for update skip locked
      ) as t;
      with taken as (
        delete from holds where account_id = any (free_accounts) and expires_at <= clock_timestamp() returning *
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
