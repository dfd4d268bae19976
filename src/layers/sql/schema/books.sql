-- Corrections of the books by an operator, and the runs of their verification.

-- made_by and reason: who wrote the entry by hand, and why. corrects: the hold whose charge an entry corrects.
alter table ledger_entries add column made_by text, add column corrects text;
alter table ledger_entries drop constraint ledger_entries_kind_check;
-- Not valid: rows that are there have one of the first two kinds, and reading all of them would hold up the searches.
alter table ledger_entries add constraint ledger_entries_kind_check
  check (kind in ('search', 'grant', 'adjustment')) not valid;

-- The sums of an account's entries up to entry_id, so that a check reads only the entries after it. Entries are never
-- changed, and those of one account are written one after the other behind the lock of its wallet: the sums stay right.
-- quota_credits: those of allowance_id, the account's allowance at that time.
create table ledger_checkpoints (
  account_id text primary key,
  entry_id bigint not null,
  balance_credits bigint not null,
  allowance_id bigint,
  quota_credits bigint not null,
  taken_at timestamptz not null
);

-- The runs of `ledger verify`. night: the UTC day of a run by the service itself, which one replica does; null for an
-- operator's. lease_until: the moment from which another replica may take over a run that has not finished.
create table ledger_verifications (
  id bigint generated always as identity primary key,
  night date unique,
  started_at timestamptz not null default clock_timestamp(),
  lease_until timestamptz,
  finished_at timestamptz,
  accounts bigint not null default 0,
  quota_problems bigint not null default 0,
  balance_problems bigint not null default 0,
  log_problems bigint not null default 0
);
