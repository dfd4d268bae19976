-- Compares an allowance's used credits with the account's thresholds, and stores the next threshold to check. Runs at a
-- threshold, at the first search of a period, and when the quota changes. Held credits count as used, as everywhere
-- that the account sees its quota. The caller holds the lock on the wallet.
create or replace function events_of_allowance() returns trigger language plpgsql as $$
declare
  holder record;
  mark record;
  next_at bigint := 9223372036854775807;
begin
  select a.id, a.plan, w.balance, w.fillings, coalesce(s.low_percents, '{80,95}') as percents into holder
    from accounts a join wallets w on w.account_id = a.id left join event_settings s on s.account_id = a.id
    where a.allowance_id = new.id and a.deleted_at is null;
  if found and new.quota is not null then
    for mark in
      select p.percent, ceil(new.quota * p.percent / 100.0)::bigint as credits,
        ceil(coalesce(old.quota, 0) * p.percent / 100.0)::bigint as credits_before
      from unnest(holder.percents || 100) as p (percent) order by p.percent
    loop
      if mark.credits > new.used then
        next_at := least(next_at, mark.credits);
      elsif old.quota is not null and mark.credits_before <= old.used then
        continue;
      elsif mark.percent < 100 then
        perform event_add(holder.id, 'credits.low', 'credits.low:' || new.id || ':' || mark.credits,
          jsonb_build_object('source', 'quota', 'threshold_percent', mark.percent)
            || event_credits(holder.plan, new, holder.balance));
      elsif holder.balance = 0 then
        perform event_exhausted(holder.id, holder.plan, holder.fillings, new);
      end if;
    end loop;
  end if;
  update allowances set events_at = next_at where id = new.id and events_at <> next_at;
  return null;
end $$;
