-- Payments: customers, subscriptions and orders as the provider reported them, and the webhook deliveries to process.

-- Numbers each reading of the provider when it starts, so that an older reading never overwrites a newer one.
create sequence billing_readings;

-- One row per account with a record at the provider.
create table billing_accounts (
  account_id text primary key references accounts (id),
  customer_id text unique,
  -- Number of the last applied reading of its subscriptions.
  reading bigint not null default 0,
  -- Since when purchases need an operator, because a dispute was lost.
  blocked_at timestamptz,
  asked_at timestamptz
);

create table billing_subscriptions (
  id text primary key,
  account_id text not null references accounts (id),
  plan text not null,
  status text not null check (status in ('active', 'past_due', 'ended')),
  period_start timestamptz not null,
  period_end timestamptz not null,
  started_at timestamptz not null,
  cancel_at_period_end boolean not null,
  pending_plan text,
  pending_at timestamptz,
  past_due_at timestamptz,
  modified_at timestamptz not null,
  -- For the current period: its first known plan, and plan changes that came without an order ([{"plan", "at"}]).
  first_plan text not null,
  steps jsonb not null default '[]'
);
create index billing_subscriptions_account on billing_subscriptions (account_id);
create index billing_subscriptions_open on billing_subscriptions (id) where status <> 'ended';

create table billing_orders (
  id text primary key,
  account_id text not null references accounts (id),
  kind text not null check (kind in ('pack', 'plan')),
  status text not null check (status in ('pending', 'paid', 'void')),
  net_cents bigint not null,
  refunded_cents bigint not null,
  -- Granted at most once. taken_back counts the credits that were taken back or are owed.
  granted bigint not null default 0,
  taken_back bigint not null default 0 check (taken_back >= 0 and taken_back <= granted),
  -- Part of the causes of entries that take back or return credits, which must be unique.
  changes integer not null default 0,
  is_dispute_lost boolean not null default false,
  reading bigint not null,
  created_at timestamptz not null
);
create index billing_orders_account on billing_orders (account_id, created_at desc);
create index billing_orders_pending on billing_orders (id) where status = 'pending';

-- Verified webhook deliveries. Until lease_until a replica is processing the delivery, or it is waiting for a retry.
create table billing_inbox (
  delivery_id text primary key,
  kind text not null,
  object_kind text not null,
  object_id text not null,
  received_at timestamptz not null,
  due_at timestamptz not null,
  done_at timestamptz,
  attempts integer not null default 0,
  last_error text
);
create index billing_inbox_due on billing_inbox (due_at) where done_at is null;
create index billing_inbox_done on billing_inbox (done_at) where done_at is not null;

-- Customers to delete at the provider. The row is written in the transaction that deletes the account.
create table billing_removals (
  customer_id text primary key,
  account_id text not null,
  due_at timestamptz not null,
  attempts integer not null default 0
);

-- One row per kind of sweep. begun_at: when the last completed sweep began.
create table billing_sweeps (
  extent text primary key,
  begun_at timestamptz,
  due_at timestamptz not null,
  lease_until timestamptz
);

-- Limits of all plans since a moment, as JSON. The row with the largest id is in force. Billing reads older rows for
-- the quota of periods that began under them (R75).
create table plan_versions (
  id bigint generated always as identity primary key,
  since timestamptz not null,
  terms jsonb not null
);
