-- Credits: the quota of each period, pack balances, holds, and the entries that explain them.
--
-- The tables that a search touches (wallets, allowances, holds, ledger_entries, queries) have no foreign keys among
-- them: each would lock a row of another table for every search. `Ledger.verify` checks that they agree.

-- One row for each account and period. The trial's belongs to the address and outlives the account (R32); its scope is
-- a digest, so that the address itself is not kept. Room is left on each page because every search updates a row.
create table allowances (
  id bigint generated always as identity primary key,
  scope text not null,
  period_start timestamptz not null,
  period_end timestamptz,
  quota bigint,
  used bigint not null default 0,
  unique (scope, period_start),
  constraint allowances_within_quota check (used >= 0 and (quota is null or used <= quota))
) with (fillfactor = 50);

-- Everything that moves an account's credits locks this row first.
create table wallets (
  account_id text primary key references accounts (id),
  balance bigint not null default 0 constraint wallets_not_negative check (balance >= 0)
) with (fillfactor = 50);

create table holds (
  id text primary key,
  account_id text not null,
  allowance_id bigint not null,
  from_quota bigint not null check (from_quota >= 0),
  from_balance bigint not null check (from_balance >= 0),
  expires_at timestamptz not null
);
create index holds_expires_at on holds (expires_at);

-- quota_credits adds to what is used of the allowance, balance_credits to the pack balance: a search has a negative
-- one. The unique cause makes a repeated settlement charge once.
create table ledger_entries (
  id bigint generated always as identity primary key,
  account_id text not null,
  allowance_id bigint,
  kind text not null check (kind in ('search', 'grant')),
  quota_credits bigint not null,
  balance_credits bigint not null,
  cause text not null unique,
  reason text,
  created_at timestamptz not null default now()
);
create index ledger_entries_account on ledger_entries (account_id, created_at);

create function ledger_forbid_change() returns trigger language plpgsql as $$
begin
  raise exception 'ledger_entries is append-only';
end $$;
create trigger ledger_entries_append_only before update or delete or truncate on ledger_entries
for each statement execute function ledger_forbid_change();
