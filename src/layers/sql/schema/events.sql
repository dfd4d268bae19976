-- Events for the customer, the endpoints that get them, and the deliveries that are due (R53).
--
-- An event is written by the transaction that makes it true, with a delivery for each endpoint that wants it and one for
-- the account's email. Triggers write most of them, so that no path is forgotten. A row's condition is compared before the
-- trigger's function is called: a search that crosses no threshold pays for a comparison alone.

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
  disabled_for text check (disabled_for in ('account', 'failing', 'gone'))
);
create index webhook_endpoints_account on webhook_endpoints (account_id, created_at desc);

-- endpoint_id is null for an email. due_at: the next attempt, or the end of the lease of whoever makes one now.
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

-- What is used of an allowance at which its events are looked at next; 0: at the next search.
alter table allowances add column events_at bigint not null default 0;
-- The balance under which the account wants an event; null for none. fillings: how often credits were granted.
alter table wallets add column low_balance bigint, add column fillings bigint not null default 0;
-- A trial's allowance belongs to an address, and its events to the account that has it.
create index if not exists accounts_allowance on accounts (allowance_id);
create index if not exists accounts_next_plan on accounts (next_plan_at) where next_plan_at is not null;

create trigger allowances_events after update of used, quota on allowances for each row
when (new.used >= new.events_at or new.quota is distinct from old.quota) execute function events_of_allowance();

create trigger wallets_events after update of balance on wallets for each row
when (new.balance < old.balance and (new.balance = 0 or new.balance < new.low_balance))
execute function events_of_wallet();

create trigger accounts_plan_events after update of plan on accounts for each row
when (new.plan <> old.plan and new.deleted_at is null) execute function events_of_plan();

create trigger accounts_period_events after update of allowance_id on accounts for each row
when (new.allowance_id <> old.allowance_id and new.deleted_at is null) execute function events_of_period();

create trigger billing_subscriptions_insert_events after insert on billing_subscriptions for each row
when (new.status = 'past_due') execute function events_of_subscription();

create trigger billing_subscriptions_update_events after update of status on billing_subscriptions for each row
when (new.status = 'past_due' and old.status <> 'past_due') execute function events_of_subscription();

create trigger api_keys_insert_events after insert on api_keys for each row execute function events_of_new_key();

create constraint trigger api_keys_revoke_events after update of revoked_at on api_keys
deferrable initially deferred for each row
when (old.revoked_at is null and new.revoked_at is not null) execute function events_of_revoked_key();

-- Keys that expire soon are looked for, and the keys of an origin.
create index key_bounds_expires_at on key_bounds (expires_at) where expires_at is not null;
create index if not exists api_keys_origin on api_keys (origin_id) where origin_id is not null;
