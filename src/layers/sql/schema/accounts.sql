-- Accounts, their API keys, and the bounds of those keys (R50).

create table accounts (
  id text primary key,
  email text not null,
  plan text not null,
  -- Null: usage is counted but unlimited.
  quota bigint check (quota >= 0),
  concurrency integer not null check (concurrency >= 1),
  -- True if the limit was agreed with the account and does not follow its plan (R75).
  quota_agreed boolean not null default false,
  concurrency_agreed boolean not null default false,
  cycle_start timestamptz,
  -- The allowance that current searches use. Null until the first search.
  allowance_id bigint,
  created_at timestamptz not null,
  deleted_at timestamptz,
  -- The user's name at a marketplace. Null for an account with an email address.
  marketplace_user text,
  suspended_at timestamptz,
  -- A scheduled plan change: a downgrade, or the end of a subscription or grace period. ledger_advance applies it when
  -- a request finds it due, so that no sweep is needed.
  next_plan text,
  next_quota bigint,
  next_concurrency integer,
  next_plan_at timestamptz,
  -- Cents per 1,000 pack credits for a custom account. Null if it cannot buy packs.
  pack_rate integer,
  -- Set while an operator has paused the account's event deliveries.
  webhooks_paused_at timestamptz
);
create unique index accounts_email on accounts (email) where email <> '' and deleted_at is null;
-- Prevents two accounts when several replicas see a subscriber for the first time at once.
create unique index accounts_marketplace_user on accounts (marketplace_user) where marketplace_user is not null;
-- Finds the account of a trial's allowance, which belongs to a mailbox.
create index accounts_allowance on accounts (allowance_id);
create index accounts_next_plan on accounts (next_plan_at) where next_plan_at is not null;

-- A rotation creates a key with a new id. All keys of a rotation chain have the first key's id as their origin (null
-- for the first key itself). Bounds and spending belong to the origin, so that they carry over to a new secret (R51).
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
  -- Fingerprint of the pepper used for the digest.
  pepper text,
  origin_id text
);
create index api_keys_account on api_keys (account_id, created_at desc);
create index api_keys_origin on api_keys (origin_id) where origin_id is not null;

-- A key without bounds has no row, or a row of nulls.
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

-- Credits spent and held in one period of a budget. Only ledger functions write here, while holding the lock on the
-- account's wallet. The fill factor leaves room on each page, because every search of a key with a budget updates a
-- row.
create table key_spending (
  id bigint generated always as identity primary key,
  origin_id text not null,
  period text not null,
  period_start timestamptz not null,
  spent bigint not null default 0 constraint key_spending_not_negative check (spent >= 0),
  unique (origin_id, period, period_start)
) with (fillfactor = 50);

-- The start of the budget period that contains a moment, in the UTC calendar. A budget for life has a single period.
-- Uses only immutable functions so that it can be inlined: as a function call it took one millisecond per statement.
create function key_budget_start(period text, moment timestamptz) returns timestamptz language sql immutable as $$
  select case
    when period = 'life' then to_timestamp(0)
    else date_trunc(period, moment at time zone 'UTC') at time zone 'UTC'
  end
$$;
