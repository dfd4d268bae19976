-- Who did what in an account (R68), in monthly partitions like the query log. Triggers write most events, so that no code
-- path is missed and each event commits with its change.

create sequence account_events_ordinal;
create table account_events (
  id text not null,
  account_id text not null,
  type text not null check (type ~ '^[a-z_]+[.][a-z_]+$'),
  -- The id of a person or a key, or 'operator'. Null for what nobody did, such as a payment that arrived.
  actor text,
  address text check (length(address) <= 64),
  browser text check (length(browser) <= 256),
  changes jsonb not null check (jsonb_typeof(changes) = 'object' and octet_length(changes::text) <= 4096),
  created_at timestamptz not null default clock_timestamp(),
  -- Preserves the order of events that have the same time.
  ordinal bigint not null default nextval('account_events_ordinal'),
  primary key (id, created_at)
) partition by range (created_at);
create index account_events_history on account_events (account_id, created_at desc, ordinal desc);
create table account_events_default partition of account_events default;

-- Who caused the event, for its email.
alter table events add column requester jsonb;
