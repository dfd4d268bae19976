-- The keys by which clients repeat a request without paying for it again (R44), each with the answer that was charged.
-- A key without an answer belongs to a request that runs while its hold exists, and to nobody after that.
--
-- Each UTC day has one of three partitions, in turn, so that a partition is emptied at once when all of its keys are more
-- than a day old. Ledger functions alone write here, behind the lock of the account's wallet.
create table idempotency_keys (
  slot smallint not null,
  account_id text not null,
  route text not null,
  key text not null,
  -- SHA-256 of the decoded request.
  fingerprint text not null,
  hold_id text not null,
  created_at timestamptz not null,
  -- Compressed by the service. Empty where the answer was too large to be kept.
  answer bytea,
  primary key (account_id, route, key, slot)
) partition by list (slot);
create table idempotency_keys_0 partition of idempotency_keys for values in (0) with (fillfactor = 60);
create table idempotency_keys_1 partition of idempotency_keys for values in (1) with (fillfactor = 60);
create table idempotency_keys_2 partition of idempotency_keys for values in (2) with (fillfactor = 60);
-- The server would try to compress what is compressed.
alter table idempotency_keys_0 alter column answer set storage external;
alter table idempotency_keys_1 alter column answer set storage external;
alter table idempotency_keys_2 alter column answer set storage external;

create function idempotency_slot(moment timestamptz) returns smallint language sql immutable as $$
  select (floor(extract(epoch from moment) / 86400)::bigint % 3)::smallint
$$;
