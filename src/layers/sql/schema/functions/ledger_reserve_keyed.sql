-- ledger_reserve_keyed_budgeted for versions that know no budgets of keys.
create or replace function ledger_reserve_keyed(
  account_ids text[], hold_ids text[], amounts bigint[], routes text[], keys text[], fingerprints text[],
  moment timestamptz, lease_ms bigint
)
returns table (
  n bigint, status text, from_quota bigint, from_balance bigint, quota bigint, used bigint, balance bigint,
  plan text, cycle_start timestamptz, period_start timestamptz, period_end timestamptz, answer bytea
)
language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set enable_material = off set lock_timeout = '2s'
as $$
#variable_conflict use_column
begin
  return query
    select r.n, r.status, r.from_quota, r.from_balance, r.quota, r.used, r.balance, r.plan, r.cycle_start,
      r.period_start, r.period_end, r.answer
    from ledger_reserve_keyed_budgeted(
      account_ids, hold_ids, amounts, routes, keys, fingerprints, '{}'::text[], moment, lease_ms
    ) r;
end $$;
