-- The data of events about credits: the plan, the allowance and the pack balance.
create or replace function event_credits(plan text, allowance allowances, balance bigint) returns jsonb
language sql stable as $$
  select jsonb_build_object('plan', plan, 'quota', allowance.quota, 'used', allowance.used,
    'remaining', allowance.quota - allowance.used, 'balance', balance, 'resets_at', event_time(allowance.period_end))
$$;
