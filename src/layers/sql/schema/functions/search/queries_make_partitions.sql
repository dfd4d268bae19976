-- Makes the partitions of the month of `moment` and of those after it that are missing, `months` in all: of the log, and of
-- its counts by hour.
--
-- It waits less for a lock than other statements: everything that writes to the log waits behind it meanwhile.
create or replace function queries_make_partitions(moment timestamptz, months integer) returns void
language plpgsql set lock_timeout = '500ms' as $$
declare
  missing record;
begin
  perform pg_advisory_xact_lock(hashtext('queries_make_partitions'));
  for missing in
    select parent, parent || to_char(month, '_YYYY_MM') as name, month::timestamp at time zone 'utc' as first,
      (month + interval '1 month')::timestamp at time zone 'utc' as next
    from generate_series(
      date_trunc('month', moment at time zone 'utc'),
      date_trunc('month', moment at time zone 'utc') + make_interval(months => months - 1),
      interval '1 month'
    ) as month, unnest(array['queries', 'usage_hours']) as parent
    where to_regclass(parent || to_char(month, '_YYYY_MM')) is null
  loop
    begin
      execute format(
        'create table %I partition of %I for values from (%L) to (%L)',
        missing.name, missing.parent, missing.first, missing.next
      );
    exception when check_violation then
      -- The default partition already has rows of this month, and keeps it.
      null;
    end;
  end loop;
end $$;
