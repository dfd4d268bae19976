-- Drops the log's partitions that are over before `moment`. Whole months: a month whose first days are past retention
-- stays until its last day is.
--
-- It waits less for a lock than other statements: everything that writes to the log waits behind it meanwhile.
create or replace function queries_drop_before(moment timestamptz) returns void
language plpgsql set lock_timeout = '500ms' as $$
declare
  partition text;
begin
  perform pg_advisory_xact_lock(hashtext('queries_make_partitions'));
  for partition in
    select relname from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'queries'::regclass and relname ~ '^queries_[0-9]{4}_[0-9]{2}$'
      and to_date(right(relname, 7), 'YYYY_MM') + interval '1 month' <= moment at time zone 'utc'
  loop
    execute format('drop table %I', partition);
  end loop;
  delete from queries_default where created_at < moment;
end $$;
