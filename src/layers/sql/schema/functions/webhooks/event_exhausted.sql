-- Writes the event for an exhausted quota and pack balance, once per quota of a period and per grant.
create or replace function event_exhausted(account text, plan text, fillings bigint, allowance allowances) returns void
language plpgsql as $$
begin
  perform event_add(account, 'credits.exhausted',
    'credits.exhausted:' || allowance.id || ':' || allowance.quota || ':' || fillings,
    event_credits(plan, allowance, 0));
end $$;
