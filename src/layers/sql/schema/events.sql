-- Customer events, webhook endpoints, and deliveries (R53). An event is written in the transaction that causes it, with
-- one delivery per subscribed endpoint and one for the account's email.

-- One row per account with changed settings: thresholds as percentages of a period's quota, and types sent by email.
create table event_settings (
  account_id text primary key references accounts (id),
  low_percents integer[] not null,
  email_types text[] not null
);

-- Contains 'email' while a mail server is configured.
create table event_channels (
  name text primary key
);

-- The cause is unique, so that a repeated cause creates a single event.
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

-- Secrets are encrypted. secret_key is the fingerprint of the AUTH_SECRET used. An empty `types` subscribes to every
-- type.
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
  -- The first failure since the last success.
  failing_since timestamptz,
  disabled_at timestamptz,
  disabled_for text check (disabled_for in ('account', 'failing', 'gone')),
  -- Set when the address changes: earlier events are not sent to the new address.
  address_since timestamptz,
  -- Set while an operator has paused the endpoint's deliveries.
  paused_at timestamptz
);
create index webhook_endpoints_account on webhook_endpoints (account_id, created_at desc);

-- endpoint_id is null for an email. due_at is when the next attempt is due, or when the lease of the current attempt
-- expires.
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
-- A queue contains the pending deliveries of an endpoint, or an account's emails (''). This index finds accounts with
-- due deliveries, and the oldest delivery of each queue, with one lookup per queue regardless of its length.
create index event_deliveries_queue
  on event_deliveries (account_id, (coalesce(endpoint_id, '')), due_at, ordinal) where status = 'pending';
create index event_deliveries_in_flight on event_deliveries (due_at) where status = 'pending' and is_taken;

-- Dropped deliveries that no replica has counted in its metrics yet. Commands that drop deliveries have no metrics.
create table event_drops (
  id bigint generated always as identity primary key,
  account_id text not null,
  endpoint_id text,
  reason text not null,
  deliveries integer not null
);
