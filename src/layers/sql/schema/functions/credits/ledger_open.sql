-- Opens the allowance of each account's next period and points the account to it. First applies a plan change that is
-- due (ledger_advance). In that case the caller's terms are outdated, and it asks again. Skips a period that is over,
-- already open, or was computed from outdated terms, so the pointer only moves forward.
create or replace function ledger_open(
  account_ids text[], plans text[], cycle_starts timestamptz[], starts timestamptz[], ends timestamptz[],
  moment timestamptz
)
returns void language plpgsql set lock_timeout = '2s' as $$
begin
  perform from wallets w where w.account_id = any (account_ids) order by w.account_id for update;
  perform ledger_advance(a.id, moment) from accounts a where a.id = any (account_ids) and a.next_plan_at <= moment;
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
end $$;
