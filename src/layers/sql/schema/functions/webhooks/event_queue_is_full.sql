-- True if 10,000 deliveries are pending for an endpoint, or for the account's email if the endpoint is null. Must match
-- `maxQueued` in services/webhooks/EventBooks.ts.
create or replace function event_queue_is_full(account text, endpoint text) returns boolean language sql stable as $$
  select exists (
    select from event_deliveries d
    where d.status = 'pending' and d.account_id = account and coalesce(d.endpoint_id, '') = coalesce(endpoint, '')
    offset 10000 - 1
  )
$$;
