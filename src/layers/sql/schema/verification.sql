-- What verifications of the ledger keep, so that they do not read every entry each time.

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
-- is_full: read every entry. closed_problems: accounts whose closed months are not what their entries add up to.
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

-- The closed part of the ledger: what the entries of each account add up to, by month and allowance. A verification closes
-- entries once it has compared them with the log and with what the account has, and reads them again only now and then.
-- The entries stay (I6), so that a closed month can be recomputed from them at any time.
--
-- allowance_id: 0 for entries without one. digest: the sum of ledger_digest over the entries. last_id: the newest closed
-- entry; those of one account are written one after the other behind the lock of its wallet, so that all older ones are
-- closed too. closed_at: when that was. read_at: when the entries were last read and found as they were closed.
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

-- A number that depends on every column of an entry, so that the sum over entries shows that none was changed, removed or
-- added. It is the same on every server and in every time zone. Stable as the functions in it, or the planner would call it
-- for each entry instead of putting its text in place of the call, which takes several times as long.
create function ledger_digest(entry ledger_entries) returns bigint language sql stable as $$
  select ('x' || left(encode(sha256(convert_to(concat_ws(
    '|', entry.id, entry.account_id, coalesce(entry.allowance_id, 0), entry.kind, entry.quota_credits, entry.balance_credits,
    entry.owed_credits, entry.cause, coalesce(entry.corrects, ''), coalesce(entry.made_by, ''), coalesce(entry.reason, ''),
    (extract(epoch from entry.created_at) * 1000000)::bigint
  ), 'UTF8')), 'hex'), 15))::bit(60)::bigint
$$;
