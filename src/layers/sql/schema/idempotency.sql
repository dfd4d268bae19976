-- Idempotency keys, each with the answer that was charged, so that a retried request is not charged again (R44). A key
-- without an answer is in use while its hold exists, and unused afterwards.
--
-- Each UTC day uses one of three partitions in turn, so that a partition can be truncated once all its keys are more
-- than a day old. Only ledger functions write here, while holding the lock on the account's wallet.
create table idempotency_keys (
  slot smallint not null,
  account_id text not null,
  route text not null,
  key text not null,
  -- SHA-256 of the decoded request.
  fingerprint text not null,
  hold_id text not null,
  created_at timestamptz not null,
  -- Compressed by the service. Empty if the answer was too large to store.
  answer bytea,
  primary key (account_id, route, key, slot)
) partition by list (slot);
create table idempotency_keys_0 partition of idempotency_keys for values in (0) with (fillfactor = 60);
create table idempotency_keys_1 partition of idempotency_keys for values in (1) with (fillfactor = 60);
create table idempotency_keys_2 partition of idempotency_keys for values in (2) with (fillfactor = 60);
-- Already compressed, so the server must not try again.
alter table idempotency_keys_0 alter column answer set storage external;
alter table idempotency_keys_1 alter column answer set storage external;
alter table idempotency_keys_2 alter column answer set storage external;

create function idempotency_slot(moment timestamptz) returns smallint language sql immutable as $$
  select (floor(extract(epoch from moment) / 86400)::bigint % 3)::smallint
$$;
