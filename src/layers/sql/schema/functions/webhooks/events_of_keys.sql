-- The data of events about a key.
create or replace function event_key(key api_keys) returns jsonb language sql stable as $$
  select jsonb_build_object('key_id', key.id, 'name', key.label, 'type', key.mode, 'hint', key.hint)
$$;

-- Writes an event for a created key, or for a key that a rotation created.
create or replace function events_of_new_key() returns trigger language plpgsql as $$
begin
  if new.origin_id is null then
    perform event_add(new.account_id, 'key.created', 'key.created:' || new.id, event_key(new));
  else
    perform event_add(new.account_id, 'key.rotated', 'key.rotated:' || new.id, event_key(new) || jsonb_build_object(
      'previous_key_id', (
        select k.id from api_keys k
        where k.account_id = new.account_id and k.id <> new.id and coalesce(k.origin_id, k.id) = new.origin_id
        order by k.created_at desc, k.revoked_at desc limit 1
      )));
  end if;
  return null;
end $$;

-- Writes an event for a revoked key. Runs at the end of the transaction, when a rotation has already created the new
-- key of the same origin, and so is not reported as a revocation.
create or replace function events_of_revoked_key() returns trigger language plpgsql as $$
begin
  if not exists (
    select from api_keys k where k.account_id = new.account_id and k.revoked_at is null
      and coalesce(k.origin_id, k.id) = coalesce(new.origin_id, new.id)
  ) then
    perform event_add(new.account_id, 'key.revoked', 'key.revoked:' || new.id, event_key(new));
  end if;
  return null;
end $$;

-- Writes events for keys that expire between two times, once per expiry. Returns the number of keys examined.
create or replace function events_of_expiring_keys(moment timestamptz, horizon timestamptz, most integer) returns integer
language plpgsql as $$
declare
  expiring record;
  seen integer := 0;
begin
  for expiring in
    select k as key, b.expires_at, 'key.expiring:' || b.origin_id || ':' || extract(epoch from b.expires_at) as cause
    from key_bounds b
    join api_keys k on (k.id = b.origin_id or k.origin_id = b.origin_id) and k.revoked_at is null
    where b.expires_at > moment and b.expires_at <= horizon
      and (
        exists (select from webhook_endpoints e where e.account_id = k.account_id and e.disabled_at is null)
        or exists (select from event_channels)
      )
      and not exists (
        select from events v
        where v.cause = 'key.expiring:' || b.origin_id || ':' || extract(epoch from b.expires_at)
      )
    order by b.expires_at limit most
  loop
    seen := seen + 1;
    perform event_add((expiring.key).account_id, 'key.expiring', expiring.cause,
      event_key(expiring.key) || jsonb_build_object('expires_at', event_time(expiring.expires_at)));
  end loop;
  return seen;
end $$;
