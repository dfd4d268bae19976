-- Holds credits for a batch of requests, so that a batch of any size is one round trip.
--
-- Each account's requests are served in arrival order, all or nothing, quota before balance (R30). Status of each:
--   held      the hold is there; one that was there already is a retry after a lost connection and is answered again,
--             with the figures from before the hold, as a first answer has them
--   exceeded  neither quota nor balance covers it
--   stale     the allowance has ended, or a change of plan is due: the caller opens the next one (ledger_open), and asks
--             again
--   unknown   there is no such account
--
-- Every ledger function locks the wallets of its accounts first, in id order, then changes holds, then allowances:
-- replicas that follow one order cannot deadlock. What it reads it reads after the lock, in a statement of its own, and
-- so with a snapshot that no other ledger operation on these accounts can outdate.
--
-- The statements are planned once for each connection: planning them again took more than a third of a small batch's
-- time. The one plan must be right for tables of any size, so every way to read more than the rows of the batch is off.
-- Without statistics (a new database, or PGlite, which never gathers any) the planner would choose such a way.
--
-- The commit is not waited for on disk: a hold that a crash of the server forgets is one that never was. set_config
-- changes the whole transaction; a `set` clause of the function would be undone before the commit.
create or replace function ledger_reserve(
  account_ids text[], hold_ids text[], amounts bigint[], moment timestamptz, lease_ms bigint
)
returns table (
  n bigint, status text, from_quota bigint, from_balance bigint, quota bigint, used bigint, balance bigint,
  plan text, cycle_start timestamptz, period_start timestamptz, period_end timestamptz
)
language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set enable_material = off set lock_timeout = '2s'
as $$
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
    select r.n, r.hold_id, r.amount, r.account_id, a.plan, a.cycle_start, a.allowance_id, a.next_plan_at, l.period_start,
      l.period_end, l.quota, l.used, w.balance, h.from_quota, h.from_balance,
      -- Of the used credits that are read here; a period that has ended since has those of its holds.
      case when h.allowance_id = a.allowance_id then h.from_quota else 0 end as own_quota
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
      used := used - request.own_quota;
      balance := balance + from_balance;
      return next;
      used := used + request.own_quota;
      balance := balance - from_balance;
    elsif used is null or period_end <= moment or request.next_plan_at <= moment then
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
end $$;
