-- True where 10,000 deliveries wait for an endpoint, or for the account's address where the endpoint is null. The same
-- number is `maxQueued` in services/webhooks/EventBooks.ts.
create or replace function event_queue_is_full(account text, endpoint text) returns boolean language sql stable as $$
  select exists (
    select from event_deliveries d
    where d.status = 'pending' and d.account_id = account and coalesce(d.endpoint_id, '') = coalesce(endpoint, '')
    offset 10000 - 1
  )
$$;
