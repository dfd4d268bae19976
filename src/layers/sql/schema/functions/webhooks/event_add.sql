-- Writes an event with its deliveries, once per cause. Does nothing if the account has no subscription to the type. What
-- people do is also recorded as the account's activity (R68).
create or replace function event_add(account text, event_type text, event_cause text, content jsonb) returns void
language plpgsql as $$
declare
  moment timestamptz := clock_timestamp();
  receivers text[];
  event text := 'evt_' || replace(gen_random_uuid()::text, '-', '');
begin
  if event_type like any (array['key.created', 'key.rotated', 'key.revoked', 'plan.%', 'pack.%', 'payment.%']) then
    perform account_event_add(account, event_type, content, null);
  end if;
  receivers := array(
    select e.id from webhook_endpoints e
    where e.account_id = account and e.disabled_at is null and (e.types = '{}' or event_type = any (e.types))
  );
  -- A null endpoint is the email. Without a settings row, the account gets every type except the monthly reset.
  if exists (
    select from accounts a left join event_settings s on s.account_id = a.id
    where a.id = account and a.deleted_at is null and a.email <> ''
      and case when s.account_id is null then event_type <> 'quota.reset' else event_type = any (s.email_types) end
  ) and exists (select from event_channels where name = 'email') then
    receivers := receivers || null::text;
  end if;
  if cardinality(receivers) = 0 then
    return;
  end if;
  insert into events (id, account_id, type, cause, data, requester, created_at)
    values (event, account, event_type, event_cause, content, nullif(current_requester(), '{}'), moment) on conflict (cause) do nothing;
  if not found then
    return;
  end if;
  -- A receiver that lets its queue fill up must not fill the table.
  with queues as materialized (
    select t.endpoint_id, event_queue_is_full(account, t.endpoint_id) as is_full from unnest(receivers) as t (endpoint_id)
  ), added as (
    insert into event_deliveries (id, event_id, account_id, endpoint_id, status, due_at, created_at)
    select 'dlv_' || replace(gen_random_uuid()::text, '-', ''), event, account, q.endpoint_id, 'pending',
      to_timestamp(0), moment
    from queues q where not q.is_full
  )
  insert into event_drops (account_id, endpoint_id, reason, deliveries)
    select account, q.endpoint_id, 'too_many', 1 from queues q where q.is_full;
end $$;
