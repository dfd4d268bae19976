-- The query log, in one partition for each month, and its upkeep. Pages that are read are entries too (R58): they have no
-- field of a search, and the address as their query.

create sequence queries_ordinal cache 100;
create table queries (
  id text not null,
  hold_id text,
  account_id text,
  key_id text,
  batch_id text,
  target text not null,
  query text not null,
  geo text,
  locale text,
  page integer,
  num integer,
  safe text,
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
  -- The id of the request, and its position in the batch from 0.
  request_id uuid,
  row_index smallint,
  -- [{"provider", "reason", "ms"}], at most eight. Null where no provider refused.
  refusals jsonb,
  host text,
  -- Why a page was not read; null for one that was.
  reason text,
  -- The size of the document; 0 for a page that was not read.
  bytes bigint,
  -- The search options by their names in the API. Null for a search without any.
  options jsonb,
  primary key (id, created_at)
) partition by range (created_at);
-- The order of the log to its last tie: a page begins where the one before ended, and nothing is sorted.
create index queries_history on queries (account_id, created_at desc, ordinal desc);
-- A batch is at most 50 entries, anywhere in the log.
create index queries_batch on queries (batch_id) where batch_id is not null;
-- Clients quote the id of a request. Its entries may be anywhere in the log.
create index queries_request on queries (request_id) where request_id is not null;
-- Entries of all accounts in a span of time. The log grows in the order of time, so that this index has one small entry
-- for 128 pages, and costs a search nothing that can be measured.
create index queries_created_at on queries using brin (created_at) with (autosummarize = on);

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

-- What the server knows of the query log's upkeep, in one row.
--
-- retention_ms: the age at which entries are dropped, by whole months. Null until a server has started: nothing is dropped
-- before that. counted_to: hours that ended before this moment are in usage_hours. Null: none is.
create table log_upkeep (
  is_only boolean primary key default true check (is_only),
  retention_ms bigint check (retention_ms > 0),
  counted_to timestamptz
);
insert into log_upkeep default values;

-- Searches of busy accounts by hour, so that usage does not read every log entry. An hour of an account is here as a whole
-- or not at all. One that is missing is counted from the log: an hour with few searches, or one that is not over.
--
-- Each hour is counted twice: by target and by key. name is the target or the key's id; empty for searches without a key.
-- The partitions are dropped with those of the log.
create table usage_hours (
  account_id text not null,
  counted_by text not null check (counted_by in ('target', 'key')),
  hour timestamptz not null,
  name text not null,
  searches integer not null,
  credits bigint not null,
  ok integer not null,
  upstream_error integer not null,
  upstream_timeout integer not null,
  page_unreadable integer not null default 0,
  primary key (account_id, counted_by, hour, name)
) partition by range (hour);
create table usage_hours_default partition of usage_hours default;
