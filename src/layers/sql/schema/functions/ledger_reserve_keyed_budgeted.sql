-- ledger_reserve_budgeted for requests that have an idempotency key (R44). A key that is free is written with the hold.
-- Status of each, beside those of ledger_reserve_budgeted:
--   answered   the same request was charged within 24 hours: `answer` has what it answered
--   running    the key's first request has its hold still, or comes earlier in this batch
--   different  the key belongs to another request
-- Free is a key that nobody has used within 24 hours, and one whose hold has ended without a charge. What is read of keys
-- is read behind the lock of the wallet, so that of requests with the same key one alone gets a hold.
-- For planner settings see ledger_reserve.
create or replace function ledger_reserve_keyed_budgeted(
  account_ids text[], hold_ids text[], amounts bigint[], routes text[], keys text[], fingerprints text[],
  budget_ids text[], moment timestamptz, lease_ms bigint
)
returns table (
  n bigint, status text, from_quota bigint, from_balance bigint, quota bigint, used bigint, balance bigint,
  plan text, cycle_start timestamptz, period_start timestamptz, period_end timestamptz, answer bytea,
  budget_credits bigint, budget_period text, budget_spent bigint
)
language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set enable_material = off set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
  request record;
  taken text[] := '{}';
  free bigint[] := '{}';
  held bigint[] := '{}';
begin
  perform set_config('synchronous_commit', 'off', true);
  perform from wallets w where w.account_id = any (account_ids) order by w.account_id for update;
  for request in
    select r.n, jsonb_build_array(r.account_id, r.route, r.key)::text as name, k.answer is not null as is_answered,
      k.hold_id is distinct from r.hold_id and (k.answer is not null or h.id is not null) as is_used,
      k.fingerprint = r.fingerprint as is_same, k.answer, l.quota, l.used, w.balance, a.plan, a.cycle_start,
      l.period_start, l.period_end
    from unnest(account_ids, hold_ids, routes, keys, fingerprints) with ordinality
      as r (account_id, hold_id, route, key, fingerprint, n)
    left join accounts a on a.id = r.account_id and a.deleted_at is null
    left join wallets w on w.account_id = a.id
    left join allowances l on l.id = a.allowance_id
    left join lateral (
      select k.fingerprint, k.hold_id, k.answer from idempotency_keys k
      where k.account_id = a.id and k.route = r.route and k.key = r.key
        and k.slot in (idempotency_slot(moment), idempotency_slot(moment - interval '1 day'))
        and k.created_at > moment - interval '1 day'
      order by k.created_at desc limit 1
    ) k on true
    left join holds h on h.id = k.hold_id
    order by r.n
  loop
    if not request.is_used and request.name <> all (taken) then
      taken := taken || request.name;
      free := free || request.n;
      continue;
    end if;
    n := request.n;
    status := case
      when not request.is_used then 'running'
      when not request.is_same then 'different'
      when request.is_answered then 'answered'
      else 'running'
    end;
    from_quota := 0;
    from_balance := 0;
    quota := request.quota;
    used := request.used;
    balance := request.balance;
    plan := request.plan;
    cycle_start := request.cycle_start;
    period_start := request.period_start;
    period_end := request.period_end;
    answer := case when status = 'answered' then request.answer end;
    return next;
  end loop;
  answer := null;
  for n, status, from_quota, from_balance, quota, used, balance, plan, cycle_start, period_start, period_end,
    budget_credits, budget_period, budget_spent in
    select r.* from ledger_reserve_budgeted(
      array(select account_ids[f.n] from unnest(free) as f (n) order by f.n),
      array(select hold_ids[f.n] from unnest(free) as f (n) order by f.n),
      array(select amounts[f.n] from unnest(free) as f (n) order by f.n),
      array(select budget_ids[f.n] from unnest(free) as f (n) order by f.n),
      moment, lease_ms
    ) r
  loop
    n := free[n];
    return next;
    if status = 'held' then
      held := held || n;
    end if;
  end loop;
  insert into idempotency_keys (slot, account_id, route, key, fingerprint, hold_id, created_at)
    select idempotency_slot(moment), account_ids[t.n], routes[t.n], keys[t.n], fingerprints[t.n], hold_ids[t.n], moment
    from unnest(held) as t (n)
    on conflict (account_id, route, key, slot) do update
      set fingerprint = excluded.fingerprint, hold_id = excluded.hold_id, created_at = excluded.created_at, answer = null
      where idempotency_keys.hold_id <> excluded.hold_id;
end $$;
