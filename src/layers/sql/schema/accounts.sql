-- Accounts, the keys of their programs, and the bounds of those keys (R50).

create table accounts (
  id text primary key,
  email text not null,
  plan text not null,
  -- Null: usage is counted and never refused.
  quota bigint check (quota >= 0),
  concurrency integer not null check (concurrency >= 1),
  -- Limits that were agreed with the account do not follow its plan (R75).
  quota_agreed boolean not null default false,
  concurrency_agreed boolean not null default false,
  cycle_start timestamptz,
  -- The allowance that searches are counted in; null until the first one.
  allowance_id bigint,
  created_at timestamptz not null,
  deleted_at timestamptz,
  -- The subscriber's name at a marketplace; null for an account with an address.
  marketplace_user text,
  -- Null: the account is not suspended.
  suspended_at timestamptz,
  -- A change of plan that lies ahead (the end of a grace or of a subscription, a downgrade). Null: none. ledger_advance
  -- makes it when a search or a look finds it due, so that it needs no sweep.
  next_plan text,
  next_quota bigint,
  next_concurrency integer,
  next_plan_at timestamptz,
  -- Cents for 1,000 pack credits of a custom account; null where it cannot buy packs.
  pack_rate integer,
  -- An operator has paused deliveries of events, which wait.
  webhooks_paused_at timestamptz
);
create unique index accounts_email on accounts (email) where email <> '' and deleted_at is null;
-- One account for each subscriber, however many replicas see one for the first time at once.
create unique index accounts_marketplace_user on accounts (marketplace_user) where marketplace_user is not null;
-- A trial's allowance belongs to an address, and its events to the account that has it.
create index accounts_allowance on accounts (allowance_id);
create index accounts_next_plan on accounts (next_plan_at) where next_plan_at is not null;

-- A rotation makes a key with another id. All keys that came from one by rotation have its id as their origin, null being
-- the key's own. Bounds and spending belong to the origin, so that they go over to a new secret (R51).
create table api_keys (
  id text primary key,
  account_id text not null references accounts (id),
  label text not null,
  mode text not null check (mode in ('live', 'test')),
  digest bytea not null unique,
  hint text not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz,
  -- The fingerprint of the pepper of the digest.
  pepper text,
  origin_id text
);
create index api_keys_account on api_keys (account_id, created_at desc);
create index api_keys_origin on api_keys (origin_id) where origin_id is not null;

-- A key without bounds has no row, or one with nulls alone.
create table key_bounds (
  origin_id text primary key,
  expires_at timestamptz,
  targets text[],
  networks text[],
  budget_credits bigint check (budget_credits > 0),
  budget_period text check (budget_period in ('day', 'month', 'life')),
  constraint key_bounds_whole_budget check ((budget_credits is null) = (budget_period is null))
);
create index key_bounds_expires_at on key_bounds (expires_at) where expires_at is not null;

-- What was spent in one period of a budget, with what is held. Ledger functions alone write here, behind the lock of the
-- account's wallet. Room is left on each page because every search of a key with a budget updates a row.
create table key_spending (
  id bigint generated always as identity primary key,
  origin_id text not null,
  period text not null,
  period_start timestamptz not null,
  spent bigint not null default 0 constraint key_spending_not_negative check (spent >= 0),
  unique (origin_id, period, period_start)
) with (fillfactor = 50);

-- The start of the period of a budget that contains a moment, by the UTC calendar. A life has one period.
-- Of immutable functions alone, so that statements inline it: called as a function it took a millisecond of each.
create function key_budget_start(period text, moment timestamptz) returns timestamptz language sql immutable as $$
  select case
    when period = 'life' then to_timestamp(0)
    else date_trunc(period, moment at time zone 'UTC') at time zone 'UTC'
  end
$$;
