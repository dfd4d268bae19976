-- The event that neither quota nor pack credits are left: once for a quota of a period and the credits granted so far.
create or replace function event_exhausted(account text, plan text, fillings bigint, allowance allowances) returns void
language plpgsql as $$
begin
  perform event_add(account, 'credits.exhausted',
    'credits.exhausted:' || allowance.id || ':' || allowance.quota || ':' || fillings,
    event_credits(plan, allowance, 0));
end $$;
