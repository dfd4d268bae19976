-- Credits: the quota of each period, pack balances, holds, and the entries that explain them.
--
-- The tables that a search writes (wallets, allowances, holds, ledger_entries, queries) have no foreign keys between
-- them, because each would lock another row per search. `Ledger.verify` checks that they agree.

-- One row per account and period. A trial's row belongs to the mailbox and outlives the account (R32). Its scope is a
-- digest, so that the address is not stored. The fill factor leaves room on each page, because every search updates a
-- row.
create table allowances (
  id bigint generated always as identity primary key,
  scope text not null,
  period_start timestamptz not null,
  period_end timestamptz,
  quota bigint,
  used bigint not null default 0,
  -- The subscription that determined the period's dates. Null if the calendar did (R31).
  subscription_id text,
  -- Number of used credits at which events are checked next. 0: at the next search.
  events_at bigint not null default 0,
  unique (scope, period_start),
  constraint allowances_within_quota check (used >= 0 and (quota is null or used <= quota))
) with (fillfactor = 50);

-- Every operation on an account's credits locks this row first.
create table wallets (
  account_id text primary key references accounts (id),
  balance bigint not null default 0 constraint wallets_not_negative check (balance >= 0),
  -- Spent credits of refunded packs. Settled from the next granted credits.
  owed bigint not null default 0 constraint wallets_owed_not_negative check (owed >= 0),
  -- Balance below which the account wants an event. Null for none.
  low_balance bigint,
  -- Number of times that credits were granted.
  fillings bigint not null default 0
) with (fillfactor = 50);

create table holds (
  id text primary key,
  account_id text not null,
  allowance_id bigint not null,
  from_quota bigint not null check (from_quota >= 0),
  from_balance bigint not null check (from_balance >= 0),
  expires_at timestamptz not null,
  -- The key's spending that includes the hold. Null if the key has no budget.
  key_spending_id bigint,
  -- The replica that made the hold. Null for a command.
  replica_id text
);
create index holds_expires_at on holds (expires_at);

-- quota_credits changes the allowance's used credits, balance_credits the pack balance (negative for a search), and
-- owed_credits the debt. The unique cause ensures that a repeated settlement charges once.
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
  -- The operator who wrote the entry.
  made_by text,
  -- The hold whose charge the entry corrects.
  corrects text,
  -- The pack balance after a grant, returned when the grant is repeated. Null for other kinds.
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
