-- The query log in monthly partitions, and its maintenance. Page reads are logged too (R58), with the address as their
-- query and no other search fields.

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
  -- Preserves the write order of rows in one batch, which may have the same time.
  ordinal bigint not null default nextval('queries_ordinal'),
  -- The request's id, and the position in its batch, from 0.
  request_id uuid,
  row_index smallint,
  -- [{"provider", "reason", "ms"}], at most eight. Null if no provider refused.
  refusals jsonb,
  host text,
  -- Why a page could not be read. Null if it was read.
  reason text,
  -- Size of the document. 0 for a page that could not be read.
  bytes bigint,
  primary key (id, created_at)
) partition by range (created_at);
-- A total order, so that a page continues where the previous one ended, without sorting.
create index queries_history on queries (account_id, created_at desc, ordinal desc);
create index queries_batch on queries (batch_id) where batch_id is not null;
create index queries_request on queries (request_id) where request_id is not null;
-- Entries of all accounts in a time span. The log grows in time order, so this index has one small entry per 128 pages
-- and adds no measurable cost to a search.
create index queries_created_at on queries using brin (created_at) with (autosummarize = on);

-- Ensures that a charged search is logged even if its month has no partition.
create table queries_default partition of queries default;

-- The start of the oldest month in the log. Earlier ledger entries cannot be compared with the log.
create function queries_retained_since() returns timestamptz language sql stable as $$
  select coalesce(
    min(to_date(substring(relname from '^queries_([0-9]{4}_[0-9]{2})$'), 'YYYY_MM')::timestamp at time zone 'utc'),
    '-infinity'
  )
  from pg_inherits join pg_class on pg_class.oid = inhrelid
  where inhparent = 'queries'::regclass
$$;

-- State of the query log's maintenance, in one row.
--
-- retention_ms: age at which entries are dropped, by whole months. Null, and nothing is dropped, until a server has
-- started. counted_to: hours that ended before this time are in usage_hours. Null if none are.
create table log_upkeep (
  is_only boolean primary key default true check (is_only),
  retention_ms bigint check (retention_ms > 0),
  counted_to timestamptz
);
insert into log_upkeep default values;

-- Hourly searches of busy accounts, so that usage does not read every log entry. An account's hour is counted
-- completely or not at all. Other hours, with few searches or not over yet, are counted from the log.
--
-- Each hour is counted by target and by key. name is the target or the key's id, empty for searches without a key.
-- Partitions are dropped with those of the log.
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
