-- Writes the event for an exhausted quota and pack balance, once per quota of a period and per grant.
create or replace function event_exhausted(account text, plan text, grantCount bigint, allowance allowances) returns void
language plpgsql as $$
begin
  perform event_add(account, 'credits.exhausted',
    'credits.exhausted:' || allowance.id || ':' || allowance.quota || ':' || grantCount,
    event_credits(plan, allowance, 0));
end $$;
