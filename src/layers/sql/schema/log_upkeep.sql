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
  primary key (account_id, counted_by, hour, name)
) partition by range (hour);
create table usage_hours_default partition of usage_hours default;
-- One for each month that the log has.
declare
  month date;
begin
  for month in
    select to_date(right(relname, 7), 'YYYY_MM') from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'queries'::regclass and relname ~ '^queries_[0-9]{4}_[0-9]{2}$'
  loop
    execute format(
      'create table %I partition of usage_hours for values from (%L) to (%L)', 'usage_hours_' || to_char(month, 'YYYY_MM'),
      month::timestamp at time zone 'utc', (month + interval '1 month')::timestamp at time zone 'utc'
    );
  end loop;
end;
