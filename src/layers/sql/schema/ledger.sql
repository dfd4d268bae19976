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
  -- The subscription whose provider gave the period's dates; null where the period was opened by the calendar (R31).
  subscription_id text,
  -- What is used at which events are looked at next; 0: at the next search.
  events_at bigint not null default 0,
  unique (scope, period_start),
  constraint allowances_within_quota check (used >= 0 and (quota is null or used <= quota))
) with (fillfactor = 50);

-- Everything that moves an account's credits locks this row first.
create table wallets (
  account_id text primary key references accounts (id),
  balance bigint not null default 0 constraint wallets_not_negative check (balance >= 0),
  -- Credits of refunded packs that were spent before; settled from the next credits that are granted.
  owed bigint not null default 0 constraint wallets_owed_not_negative check (owed >= 0),
  -- The balance under which the account wants an event; null for none.
  low_balance bigint,
  -- How often credits were granted.
  fillings bigint not null default 0
) with (fillfactor = 50);

create table holds (
  id text primary key,
  account_id text not null,
  allowance_id bigint not null,
  from_quota bigint not null check (from_quota >= 0),
  from_balance bigint not null check (from_balance >= 0),
  expires_at timestamptz not null,
  -- The spending that the hold counts in; null where the caller has no budget.
  key_spending_id bigint,
  -- The replica whose request the hold belongs to; null for a command.
  replica_id text
);
create index holds_expires_at on holds (expires_at);

-- quota_credits adds to what is used of the allowance, balance_credits to the pack balance (a search has a negative
-- one), owed_credits to what is owed. The unique cause makes a repeated settlement charge once.
create table ledger_entries (
  id bigint generated always as identity primary key,
  account_id text not null,
  allowance_id bigint,
  kind text not null check (kind in ('search', 'grant', 'adjustment', 'pack', 'refund', 'owed')),
  quota_credits bigint not null,
  balance_credits bigint not null,
  cause text not null unique,
  reason text,
  created_at timestamptz not null default now(),
  -- Who wrote the entry by hand.
  made_by text,
  -- The hold whose charge the entry corrects.
  corrects text,
  -- The pack balance after a grant, which is the answer to the same grant again. Null for other kinds.
  balance_after bigint,
  owed_credits bigint not null default 0
);
create index ledger_entries_account on ledger_entries (account_id, created_at);

create function ledger_forbid_change() returns trigger language plpgsql as $$
begin
  raise exception 'ledger_entries is append-only';
end $$;
create trigger ledger_entries_append_only before update or delete or truncate on ledger_entries
for each statement execute function ledger_forbid_change();
