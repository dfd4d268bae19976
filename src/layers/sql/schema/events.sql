-- Events for the customer, the endpoints that get them, and the deliveries that are due (R53).
--
-- An event is written by the transaction that makes it true, with a delivery for each endpoint that wants it and one for
-- the account's email.

-- One row for each account that changed what it wants. Percents of a period's quota; types that are sent by email.
create table event_settings (
  account_id text primary key references accounts (id),
  low_percents integer[] not null,
  email_types text[] not null
);

-- 'email' is there while the deployment has a mail server.
create table event_channels (
  name text primary key
);

-- The cause is the same when the same thing comes true again: it makes one event.
create table events (
  id text primary key,
  account_id text not null,
  type text not null,
  cause text not null unique,
  data jsonb not null,
  created_at timestamptz not null
);
create index events_account on events (account_id);
create index events_created_at on events (created_at);

-- Secrets are encrypted; secret_key is the fingerprint of the AUTH_SECRET that did it. types: empty for every type.
create table webhook_endpoints (
  id text primary key,
  account_id text not null references accounts (id),
  url text not null,
  types text[] not null,
  secret bytea not null,
  old_secret bytea,
  old_secret_until timestamptz,
  secret_key text not null,
  created_at timestamptz not null,
  -- The first of the failures since the last success.
  failing_since timestamptz,
  disabled_at timestamptz,
  disabled_for text check (disabled_for in ('account', 'failing', 'gone')),
  -- Events created before are not sent to the address; null for the first address.
  address_since timestamptz,
  -- The operator has stopped deliveries, which wait.
  paused_at timestamptz
);
create index webhook_endpoints_account on webhook_endpoints (account_id, created_at desc);

-- endpoint_id is null for an email. due_at: the next attempt, or the end of the lease of the current attempt.
create table event_deliveries (
  id text primary key,
  ordinal bigint generated always as identity,
  event_id text not null references events (id) on delete cascade,
  account_id text not null,
  endpoint_id text references webhook_endpoints (id) on delete cascade,
  status text not null check (status in ('pending', 'delivered', 'failed')),
  due_at timestamptz not null,
  is_taken boolean not null default false,
  attempts integer not null default 0,
  attempted_at timestamptz,
  http_status integer,
  error text,
  duration_ms integer,
  created_at timestamptz not null
);
create index event_deliveries_due on event_deliveries (due_at) where status = 'pending';
create index event_deliveries_pending on event_deliveries (endpoint_id, due_at) where status = 'pending';
create index event_deliveries_endpoint on event_deliveries (endpoint_id, ordinal desc);
create index event_deliveries_event on event_deliveries (event_id);
-- A queue has the pending deliveries of an endpoint, or an account's emails (''). The index finds the accounts that have a
-- delivery due, and the oldest delivery of each queue, with one look at each queue, however long it is.
create index event_deliveries_queue
  on event_deliveries (account_id, (coalesce(endpoint_id, '')), due_at, ordinal) where status = 'pending';
create index event_deliveries_in_flight on event_deliveries (due_at) where status = 'pending' and is_taken;

-- Deliveries that were dropped, until a replica has counted them in its metrics. Commands that drop have no metrics.
create table event_drops (
  id bigint generated always as identity primary key,
  account_id text not null,
  endpoint_id text,
  reason text not null,
  deliveries integer not null
);
