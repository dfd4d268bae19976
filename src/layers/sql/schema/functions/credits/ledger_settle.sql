-- Ends a batch of holds: charges them, releases the rest (pack credits first, R30), and writes ledger entries and the
-- query log. `charged` is null if the hold had expired, in which case nothing changes. A hold that an earlier call
-- settled returns the charge of that call. For locks and planner settings see ledger_reserve.
--
-- For requests with an idempotency key (R44), `routes` and `keys`, stores each answer under its key, except for an
-- expired hold, which was not charged. `answers` is the concatenation of all answers, and `answer_bytes` has the length
-- of each.
--
-- For `records` see queries_add. The log is written by a separate statement: without hash joins, joining the batch with
-- the holds would compare every pair of rows.
create or replace function ledger_settle(
  hold_ids text[], account_ids text[], charges bigint[], records json, routes text[] default null,
  keys text[] default null, answers bytea default null, answer_bytes integer[] default null
)
returns table (n bigint, charged bigint, balance bigint)
language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set jit = off
set enable_mergejoin = off set enable_material = off set lock_timeout = '2s'
as $$
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
      array[h.key_spending_id, h.member_spending_id] as spendings,
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
  ), budget_back as (
    update key_spending s set spent = s.spent - t.credits
    from (
      select u.id, sum(to_quota + to_balance)::bigint as credits from taken, unnest(spendings) as u (id)
      where u.id is not null group by 1
    ) as t
    where s.id = t.id and t.credits > 0
  ), entered as (
    insert into ledger_entries (account_id, allowance_id, kind, quota_credits, balance_credits, cause)
    select account_id, allowance_id, 'search', from_quota - to_quota, to_balance - from_balance, id
    from taken where charge > 0
  )
  select array_agg(asked.n in (select taken.n from taken) order by asked.n) into ended from asked;
  perform queries_add(hold_ids, ended, records);
  if keys is not null then
    update idempotency_keys k set answer = substring(answers from t.start for t.bytes)
    from (
      select r.*, (sum(r.bytes) over (order by r.n) - r.bytes + 1)::integer as start
      from unnest(hold_ids, account_ids, charges, routes, keys, answer_bytes) with ordinality
        as r (hold_id, account_id, charge, route, key, bytes, n)
    ) as t
    where ended[t.n] and t.charge > 0 and k.account_id = t.account_id and k.route = t.route and k.key = t.key
      and k.hold_id = t.hold_id;
  end if;
  return query
    select t.n,
      case when ended[t.n] then t.charge
        else (select e.quota_credits - e.balance_credits from ledger_entries e where e.cause = t.hold_id) end,
      w.balance
    from unnest(hold_ids, account_ids, charges) with ordinality as t (hold_id, account_id, charge, n)
    left join wallets w on w.account_id = t.account_id;
end $$;
