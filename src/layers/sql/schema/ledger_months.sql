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
-- added. It is the same on every server and in every time zone.
create function ledger_digest(entry ledger_entries) returns bigint language sql immutable as $$
  select ('x' || left(encode(sha256(convert_to(concat_ws(
    '|', entry.id, entry.account_id, coalesce(entry.allowance_id, 0), entry.kind, entry.quota_credits, entry.balance_credits,
    entry.owed_credits, entry.cause, coalesce(entry.corrects, ''), coalesce(entry.made_by, ''), coalesce(entry.reason, ''),
    (extract(epoch from entry.created_at) * 1000000)::bigint
  ), 'UTF8')), 'hex'), 15))::bit(60)::bigint
$$;

-- is_full: read every entry. closed_problems: accounts whose closed months are not what their entries add up to.
alter table ledger_verifications
  add column is_full boolean not null default false,
  add column closed_problems bigint not null default 0;
