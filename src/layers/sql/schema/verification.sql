-- State of ledger verifications, so that they need not read every entry each time.

-- Sums of an account's entries up to entry_id, so that a check reads only newer entries. Entries never change, and
-- those of an account are written one at a time under the lock of its wallet, so the sums stay correct. quota_credits:
-- entries of allowance_id, the account's allowance at that time.
create table ledger_checkpoints (
  account_id text primary key,
  entry_id bigint not null,
  balance_credits bigint not null,
  allowance_id bigint,
  quota_credits bigint not null,
  taken_at timestamptz not null
);

-- Runs of `ledger verify`. night: the UTC day of a nightly run, which one replica performs. Null for an operator's run.
-- lease_until: when another replica may take over an unfinished run. is_full: whether every entry was read.
-- closed_problems: accounts whose closed months do not match the sum of their entries.
create table ledger_verifications (
  id bigint generated always as identity primary key,
  night date unique,
  started_at timestamptz not null default clock_timestamp(),
  lease_until timestamptz,
  finished_at timestamptz,
  accounts bigint not null default 0,
  quota_problems bigint not null default 0,
  balance_problems bigint not null default 0,
  log_problems bigint not null default 0,
  is_full boolean not null default false,
  closed_problems bigint not null default 0
);

-- The closed part of the ledger: the sums of each account's entries by month and allowance. A verification closes
-- entries once it has compared them with the log and with the account, and rarely reads them again. The entries are
-- kept (I6), so a closed month can be recomputed at any time.
--
-- allowance_id: 0 for entries without one. digest: the sum of ledger_digest over the entries. last_id: the newest
-- closed entry. All older entries of the account are closed too, because they are written one at a time under the lock
-- of its wallet. closed_at: when it was closed. read_at: when the entries were last reread and matched.
create table ledger_months (
  account_id text not null,
  month date not null,
  allowance_id bigint not null,
  entries bigint not null,
  quota_credits bigint not null,
  balance_credits bigint not null,
  owed_credits bigint not null,
  digest numeric not null,
  last_id bigint not null,
  closed_at timestamptz not null,
  read_at timestamptz not null,
  primary key (account_id, month, allowance_id)
) with (fillfactor = 80);
create index ledger_months_read on ledger_months (read_at, month);

-- A number that depends on every column of an entry, so that the sum over entries reveals changed, deleted and added
-- entries. It is the same on every server and in every time zone. Must be declared stable like the functions it uses,
-- or the planner would not inline it, which takes several times as long.
create function ledger_digest(entry ledger_entries) returns bigint language sql stable as $$
  select ('x' || left(encode(sha256(convert_to(concat_ws(
    '|', entry.id, entry.account_id, coalesce(entry.allowance_id, 0), entry.kind, entry.quota_credits, entry.balance_credits,
    entry.owed_credits, entry.cause, coalesce(entry.corrects, ''), coalesce(entry.made_by, ''), coalesce(entry.reason, ''),
    (extract(epoch from entry.created_at) * 1000000)::bigint
  ), 'UTF8')), 'hex'), 15))::bit(60)::bigint
$$;
