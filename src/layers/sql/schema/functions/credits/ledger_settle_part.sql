-- Charges parts of holds, one search each, and keeps the rest held. A streamed batch settles each row before writing
-- it. `charged` is null if the hold had expired or has too few credits left, in which case nothing changes. A part that
-- an earlier call settled returns the charge of that call. `ledger_settle` without charges ends the hold.
--
-- A part uses the hold's quota before its pack credits, so all parts together use what a single settlement would (R30).
-- The used credits of the allowance do not change, because they include the hold. For locks and planner settings see
-- ledger_reserve, for `records` queries_add.
create or replace function ledger_settle_part(
  hold_ids text[], part_ids text[], account_ids text[], charges bigint[], records json
)
returns table (n bigint, charged bigint)
language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set jit = off
set enable_mergejoin = off set enable_material = off set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
  settled boolean[];
begin
  perform from wallets w where w.account_id = any (account_ids) order by w.account_id for update;
  with asked as materialized (
    select t.n, t.hold_id, t.part_id, t.charge,
      (sum(t.charge) over (partition by t.hold_id order by t.n))::bigint as charged_so_far
    from unnest(hold_ids, part_ids, charges) with ordinality as t (hold_id, part_id, charge, n)
    where not exists (select from ledger_entries e where e.cause = t.part_id)
  ), parts as materialized (
    select asked.n, asked.part_id, asked.charge, h.id, h.account_id, h.allowance_id,
      least(asked.charged_so_far, h.from_quota) - least(asked.charged_so_far - asked.charge, h.from_quota)
        as quota_charge
    from asked join holds h on h.id = asked.hold_id
    where asked.charged_so_far <= h.from_quota + h.from_balance
  ), lessened as (
    update holds h set from_quota = h.from_quota - t.quota_charge, from_balance = h.from_balance - t.balance_charge
    from (
      select id, sum(quota_charge)::bigint as quota_charge, sum(charge - quota_charge)::bigint as balance_charge
      from parts group by id
    ) as t
    where h.id = t.id
  ), entered as (
    insert into ledger_entries (account_id, allowance_id, kind, quota_credits, balance_credits, cause)
    select account_id, allowance_id, 'search', quota_charge, quota_charge - charge, part_id from parts
  )
  select array_agg(t.n in (select parts.n from parts) order by t.n) into settled
    from unnest(hold_ids) with ordinality as t (hold_id, n);
  perform queries_add(part_ids, settled, records);
  return query
    select t.n, (select e.quota_credits - e.balance_credits from ledger_entries e where e.cause = t.part_id)
    from unnest(part_ids) with ordinality as t (part_id, n);
end $$;
