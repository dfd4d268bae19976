-- Payments: what the provider has said of customers, subscriptions and orders, and the deliveries that ask for work.

-- Readings of the provider are numbered as they begin: one that began earlier is not booked over a later one.
create sequence billing_readings;

-- One row for each account that has dealt with the provider.
create table billing_accounts (
  account_id text primary key references accounts (id),
  customer_id text unique,
  -- The last reading of its subscriptions that was booked.
  reading bigint not null default 0,
  -- Purchases need an operator since a dispute was lost; null: they do not.
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
  -- Of the present period: the plan at first sight, and the changes that came without an order ([{"plan", "at"}]).
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
  -- Granted once for ever; taken_back are those of them that were taken back or are owed.
  granted bigint not null default 0,
  taken_back bigint not null default 0 check (taken_back >= 0 and taken_back <= granted),
  -- Makes the causes of the entries that take back and return different.
  changes integer not null default 0,
  is_dispute_lost boolean not null default false,
  reading bigint not null,
  created_at timestamptz not null
);
create index billing_orders_account on billing_orders (account_id, created_at desc);
create index billing_orders_pending on billing_orders (id) where status = 'pending';

-- Deliveries that were verified. lease_until: until then a replica works on it, or waits for another attempt.
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

-- Customers to remove at the provider; a row is written with the removal of the account.
create table billing_removals (
  customer_id text primary key,
  account_id text not null,
  due_at timestamptz not null,
  attempts integer not null default 0
);

-- One row for each extent of a sweep. begun_at: the begin of the last sweep that ended.
create table billing_sweeps (
  extent text primary key,
  begun_at timestamptz,
  due_at timestamptz not null,
  lease_until timestamptz
);

-- The limits of every plan from a moment on, as JSON. The row with the largest id is in force. Billing reads the others for
-- the quota of periods that began under them (R75).
create table plan_versions (
  id bigint generated always as identity primary key,
  since timestamptz not null,
  terms jsonb not null
);
