-- Writes events when the pack balance falls below the account's threshold, once between two grants, and when it reaches
-- 0 with an exhausted quota.
create or replace function events_of_wallet() returns trigger language plpgsql as $$
declare
  holder record;
begin
  select a.id, a.plan, l as allowance into holder from accounts a join allowances l on l.id = a.allowance_id
    where a.id = new.account_id and a.deleted_at is null;
  if not found then
    return null;
  end if;
  if new.balance < new.low_balance and old.balance >= new.low_balance then
    perform event_add(holder.id, 'credits.low',
      'credits.low:balance:' || holder.id || ':' || new.fillings || ':' || new.low_balance,
      jsonb_build_object('source', 'balance', 'threshold_credits', new.low_balance)
        || event_credits(holder.plan, holder.allowance, new.balance));
  end if;
  if new.balance = 0 and (holder.allowance).used >= (holder.allowance).quota then
    perform event_exhausted(holder.id, holder.plan, new.fillings, holder.allowance);
  end if;
  return null;
end $$;
