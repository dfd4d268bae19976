-- The query log, in one partition for each month.

create sequence queries_ordinal cache 100;
create table queries (
  id text not null,
  hold_id text,
  account_id text,
  key_id text,
  batch_id text,
  target text not null,
  query text not null,
  geo text not null,
  locale text not null,
  page integer not null,
  num integer not null,
  safe text not null,
  source text not null,
  outcome text not null,
  credits integer not null check (credits >= 0),
  cached boolean not null,
  provider text,
  result_count integer not null,
  duration_ms bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  -- The rows of one batch may have the same time: this keeps the order in which they were written.
  ordinal bigint not null default nextval('queries_ordinal'),
  primary key (id, created_at)
) partition by range (created_at);
-- The order of the log to its last tie: a page begins where the one before ended, and nothing is sorted.
create index queries_history on queries (account_id, created_at desc, ordinal desc);
-- A batch is at most 50 entries, anywhere in the log.
create index queries_batch on queries (batch_id) where batch_id is not null;

-- A month without a partition must not lose a charged search.
create table queries_default partition of queries default;

-- The first moment of the oldest month that the log still has; before it, ledger entries have no log to agree with.
create function queries_retained_since() returns timestamptz language sql stable as $$
  select coalesce(
    min(to_date(substring(relname from '^queries_([0-9]{4}_[0-9]{2})$'), 'YYYY_MM')::timestamp at time zone 'utc'),
    '-infinity'
  )
  from pg_inherits join pg_class on pg_class.oid = inhrelid
  where inhparent = 'queries'::regclass
$$;
