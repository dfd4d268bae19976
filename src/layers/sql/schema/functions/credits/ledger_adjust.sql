-- Writes a correcting entry and changes the corresponding figure by the same number of credits. Positive credits favor
-- the account: they increase the pack balance, or reduce the used part of the current quota. A repeated cause adjusts
-- only once. Nothing is clamped: an adjustment is `impossible` if the account lacks the credits (I1). Held credits do
-- not count as used, because they may be released.
--
-- Status: adjusted, stale (see ledger_reserve), impossible. No row for an unknown account.
create or replace function ledger_adjust(
  account text, credits bigint, target text, why text, who text, adjustment_cause text, moment timestamptz
)
returns table (
  status text, quota bigint, used bigint, held bigint, balance bigint, plan text, cycle_start timestamptz,
  period_start timestamptz, period_end timestamptz
)
language plpgsql set lock_timeout = '2s' as $$
#variable_conflict use_column
declare
  terms record;
begin
  perform from wallets w join accounts a on a.id = w.account_id
    where w.account_id = account and a.deleted_at is null for update of w;
  if not found then
    return;
  end if;
  select a.plan, a.cycle_start, a.allowance_id, a.next_plan_at, l.quota, l.used, l.period_start, l.period_end, w.balance,
    (select coalesce(sum(h.from_quota), 0)::bigint from holds h where h.account_id = account
      and h.allowance_id = a.allowance_id) as held,
    exists (select from ledger_entries e where e.cause = adjustment_cause) as is_done
    into terms
    from accounts a join wallets w on w.account_id = a.id left join allowances l on l.id = a.allowance_id
    where a.id = account;
  if terms.is_done then
    status := 'adjusted';
  elsif terms.used is null or terms.period_end <= moment or terms.next_plan_at <= moment then
    status := 'stale';
  elsif target = 'balance' and terms.balance + credits < 0 then
    status := 'impossible';
  elsif target = 'quota' and (terms.used - credits < terms.held or terms.used - credits > terms.quota) then
    status := 'impossible';
  else
    status := 'adjusted';
    insert into ledger_entries
      (account_id, allowance_id, kind, quota_credits, balance_credits, cause, reason, made_by)
      values (account, case when target = 'quota' then terms.allowance_id end, 'adjustment',
        case when target = 'quota' then -credits else 0 end, case when target = 'balance' then credits else 0 end,
        adjustment_cause, why, who);
    if target = 'quota' then
      update allowances l set used = l.used - credits where l.id = terms.allowance_id returning l.used into terms.used;
    else
      update wallets w set balance = w.balance + credits, fillings = w.fillings + (credits > 0)::integer
        where w.account_id = account
        returning w.balance into terms.balance;
    end if;
  end if;
  return query select status, terms.quota, terms.used, terms.held, terms.balance, terms.plan, terms.cycle_start,
    terms.period_start, terms.period_end;
end $$;
