-- What the baseline keeps: the same facts as Quarry, with the same indexes on what grows, and nothing for features that
-- it does not have.
create table accounts (
  id text primary key,
  plan text not null,
  quota bigint not null,
  used bigint not null default 0,
  balance bigint not null default 0,
  concurrency integer not null,
  period_end timestamptz not null,
  check (used >= 0 and used <= quota and balance >= 0)
) with (fillfactor = 50);

create table api_keys (
  id text primary key,
  account_id text not null references accounts (id),
  digest bytea not null unique,
  revoked_at timestamptz
);

-- Credits of searches that run. A crash leaves its holds behind, and the sweeper gives them back.
create table holds (
  id text primary key,
  account_id text not null,
  from_quota bigint not null,
  from_balance bigint not null,
  expires_at timestamptz not null
);
create index holds_expires_at on holds (expires_at);

create table ledger_entries (
  id bigint generated always as identity primary key,
  account_id text not null,
  quota_credits bigint not null,
  balance_credits bigint not null,
  cause text not null unique,
  created_at timestamptz not null default now()
);
create index ledger_entries_account on ledger_entries (account_id, created_at);

create table queries (
  id text primary key,
  account_id text not null,
  key_id text not null,
  batch_id text,
  target text not null,
  query text not null,
  geo text not null,
  locale text not null,
  page integer not null,
  num integer not null,
  safe text not null,
  source text not null,
  outcome text not null,
  credits integer not null,
  cached boolean not null,
  result_count integer not null,
  duration_ms bigint not null,
  created_at timestamptz not null default now()
);
create index queries_history on queries (account_id, created_at desc);
create index queries_batch on queries (batch_id) where batch_id is not null;
