-- Accounts and the keys of their programs.

create table accounts (
  id text primary key,
  email text not null,
  plan text not null,
  -- Null: usage is counted and never refused.
  quota bigint check (quota >= 0),
  concurrency integer not null check (concurrency >= 1),
  cycle_start timestamptz,
  -- The allowance that searches are counted in; null until the first one.
  allowance_id bigint,
  created_at timestamptz not null,
  deleted_at timestamptz,
  -- The subscriber's name at a marketplace; null for an account with an address.
  marketplace_user text
);
create unique index accounts_email on accounts (email) where email <> '' and deleted_at is null;
-- One account for each subscriber, however many replicas see one for the first time at once.
create unique index accounts_marketplace_user on accounts (marketplace_user) where marketplace_user is not null;

create table api_keys (
  id text primary key,
  account_id text not null references accounts (id),
  label text not null,
  mode text not null check (mode in ('live', 'test')),
  digest bytea not null unique,
  hint text not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index api_keys_account on api_keys (account_id, created_at desc);
