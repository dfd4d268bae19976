-- Drops the oldest month of the log if all of it is past the stored retention, with its hourly counts, and records that
-- in the audit log. Returns the partition's name, or null if no month is due or no retention is stored. Entries outside
-- all monthly partitions are deleted with the last month that is due.
--
-- Has a short lock timeout, because all writes to the log queue behind its lock request.
create or replace function queries_drop_month() returns text
language plpgsql set lock_timeout = '500ms' as $$
declare
  retention bigint;
  cutoff timestamptz;
  month text;
  bytes bigint;
begin
  perform pg_advisory_xact_lock(hashtext('queries_make_partitions'));
  select retention_ms into retention from log_upkeep for share;
  if retention is null then
    return null;
  end if;
  cutoff := clock_timestamp() - retention * interval '1 millisecond';
  select right(relname, 7) into month from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'queries'::regclass and relname ~ '^queries_[0-9]{4}_[0-9]{2}$'
      and to_date(right(relname, 7), 'YYYY_MM') + interval '1 month' <= cutoff at time zone 'utc'
    order by relname limit 1;
  if month is null then
    delete from queries_default where created_at < cutoff;
    if found then
      delete from usage_hours where hour < cutoff;
    end if;
    return null;
  end if;
  bytes := pg_total_relation_size(('queries_' || month)::regclass);
  -- In the order in which usage reads them: the other way round each would wait for the other.
  execute format('drop table if exists %I', 'usage_hours_' || month);
  execute format('drop table %I', 'queries_' || month);
  delete from usage_hours_default
    where hour < (to_date(month, 'YYYY_MM') + interval '1 month')::timestamp at time zone 'utc';
  insert into audit_entries (operator, command, subject, arguments) values (
    'server', 'retention drop', 'queries_' || month,
    jsonb_build_object('bytes', bytes, 'retention_days', trim_scale(round(retention / 86400000.0, 2)))
  );
  return 'queries_' || month;
end $$;
