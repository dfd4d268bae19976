-- Applies the account's plan change if it is due, and returns whether it did. The next ledger_open opens the new plan's
-- period. A trial has no period, so its allowance is entered here (trial_enter).
create or replace function ledger_advance(account text, moment timestamptz) returns boolean
language plpgsql set lock_timeout = '2s' as $$
declare
  due accounts;
  trial bigint;
begin
  perform from wallets w where w.account_id = account for update;
  select * into due from accounts a where a.id = account and a.next_plan_at <= moment;
  if not found then
    return false;
  end if;
  if due.next_plan = 'trial' then
    trial := trial_enter(account, due.email, due.next_quota, true, 0);
  end if;
  update accounts a set plan = due.next_plan, quota = due.next_quota, concurrency = due.next_concurrency,
    cycle_start = case when trial is null then a.cycle_start end, allowance_id = coalesce(trial, a.allowance_id),
    next_plan = null, next_quota = null, next_concurrency = null, next_plan_at = null
    where a.id = account;
  return true;
end $$;
