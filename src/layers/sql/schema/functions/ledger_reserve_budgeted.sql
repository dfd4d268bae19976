-- ledger_reserve for requests of API keys that have a budget (R50): a hold counts in the budget as it counts in the
-- account's quota, in one transaction. `budget_ids` has the origin of each request's key (key_bounds.sql). A request whose
-- key has no budget goes on to ledger_reserve alone. Status of each, beside those of ledger_reserve:
--   over_budget   the key's budget does not cover it: `budget_credits` for each `budget_period`, `budget_spent` of them
--
-- Requests that the budgets cover go to ledger_reserve together, in arrival order. Where it turns some of them down, their
-- share of a budget is free again, so that those that did not fit before them are looked at once more.
--
-- Spending is locked after allowances. Its rows are read behind the lock of the wallet, as everything else is. For
-- planner settings see ledger_reserve.
create or replace function ledger_reserve_budgeted(
  account_ids text[], hold_ids text[], amounts bigint[], budget_ids text[], moment timestamptz, lease_ms bigint
)
returns table (
  n bigint, status text, from_quota bigint, from_balance bigint, quota bigint, used bigint, balance bigint,
  plan text, cycle_start timestamptz, period_start timestamptz, period_end timestamptz,
  budget_credits bigint, budget_period text, budget_spent bigint
)
language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set enable_material = off set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
  request record;
  current_budget text;
  room bigint;
  waiting bigint[] := array(select generate_subscripts(account_ids, 1));
  covered bigint[];
  uncovered bigint[];
  held text[];
begin
  perform set_config('synchronous_commit', 'off', true);
  perform from wallets w where w.account_id = any (account_ids) order by w.account_id for update;
  insert into key_spending (origin_id, period, period_start)
    select distinct b.origin_id, b.budget_period, key_budget_start(b.budget_period, moment) from key_bounds b
    where b.origin_id = any (budget_ids) and b.budget_credits is not null and not exists (
      select from key_spending s where s.origin_id = b.origin_id and s.period = b.budget_period
        and s.period_start = key_budget_start(b.budget_period, moment)
    );
  if found then
    -- Of a period that ended a day ago nothing is held any more.
    delete from key_spending s using key_bounds b
      where b.origin_id = any (budget_ids) and s.origin_id = b.origin_id and s.period = b.budget_period
        and s.period_start < key_budget_start(b.budget_period, moment - interval '1 day');
  end if;
  loop
    covered := '{}';
    uncovered := '{}';
    held := '{}';
    current_budget := null;
    for request in
      select t.n, b.origin_id, b.budget_credits - s.spent as room, amounts[t.n] as amount, h.id as hold_id
      from unnest(waiting) as t (n)
      left join key_bounds b on b.origin_id = budget_ids[t.n]
      left join key_spending s on s.origin_id = b.origin_id and s.period = b.budget_period
        and s.period_start = key_budget_start(b.budget_period, moment)
      left join holds h on h.id = hold_ids[t.n]
      order by b.origin_id, t.n
    loop
      if request.origin_id is distinct from current_budget then
        current_budget := request.origin_id;
        room := request.room;
      end if;
      -- A hold that is there is that of a retry, and counts already.
      if request.room is null or request.hold_id is not null then
        covered := covered || request.n;
      elsif request.amount <= room then
        covered := covered || request.n;
        room := room - request.amount;
      else
        uncovered := uncovered || request.n;
      end if;
    end loop;
    covered := array(select t.n from unnest(covered) as t (n) order by t.n);
    for n, status, from_quota, from_balance, quota, used, balance, plan, cycle_start, period_start, period_end in
      select r.* from ledger_reserve(
        array(select account_ids[t.n] from unnest(covered) as t (n) order by t.n),
        array(select hold_ids[t.n] from unnest(covered) as t (n) order by t.n),
        array(select amounts[t.n] from unnest(covered) as t (n) order by t.n),
        moment, lease_ms
      ) r
    loop
      n := covered[n];
      return next;
      if status = 'held' then
        held := held || hold_ids[n];
      end if;
    end loop;
    with counted as (
      update holds h set key_spending_id = s.id
      from unnest(hold_ids, budget_ids) as t (hold_id, budget_id)
      join key_bounds b on b.origin_id = t.budget_id
      join key_spending s on s.origin_id = b.origin_id and s.period = b.budget_period
        and s.period_start = key_budget_start(b.budget_period, moment)
      where t.hold_id = any (held) and h.id = t.hold_id and h.key_spending_id is null
      returning s.id, h.from_quota + h.from_balance as credits
    )
    update key_spending s set spent = s.spent + t.credits
      from (select counted.id, sum(counted.credits)::bigint as credits from counted group by 1) as t
      where s.id = t.id;
    exit when uncovered = '{}' or cardinality(held) = cardinality(covered);
    waiting := uncovered;
  end loop;
  return query
    select t.n, 'over_budget', 0::bigint, 0::bigint, l.quota, l.used, w.balance, a.plan, a.cycle_start, l.period_start,
      l.period_end, b.budget_credits, b.budget_period, s.spent
    from unnest(uncovered) as t (n)
    join key_bounds b on b.origin_id = budget_ids[t.n]
    join key_spending s on s.origin_id = b.origin_id and s.period = b.budget_period
      and s.period_start = key_budget_start(b.budget_period, moment)
    join accounts a on a.id = account_ids[t.n]
    join wallets w on w.account_id = a.id
    left join allowances l on l.id = a.allowance_id;
end $$;
