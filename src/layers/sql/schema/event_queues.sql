-- A queue has the pending deliveries of an endpoint, or an account's emails (''). The index finds the accounts that have a
-- delivery due, and the oldest delivery of each queue, with one look at each queue, however long it is.
create index if not exists event_deliveries_queue
  on event_deliveries (account_id, (coalesce(endpoint_id, '')), due_at, ordinal) where status = 'pending';
create index if not exists event_deliveries_in_flight on event_deliveries (due_at) where status = 'pending' and is_taken;

-- address_since: events created before are not sent to the address; null for the first address. paused_at: the operator has
-- stopped deliveries, which wait.
alter table webhook_endpoints add column address_since timestamptz, add column paused_at timestamptz;
alter table accounts add column webhooks_paused_at timestamptz;

-- Deliveries that were dropped, until a replica has counted them in its metrics. Commands that drop have no metrics.
create table event_drops (
  id bigint generated always as identity primary key,
  account_id text not null,
  endpoint_id text,
  reason text not null,
  deliveries integer not null
);
