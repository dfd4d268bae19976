-- Makes the partitions of the month of `moment` and of those after it that are missing, `months` in all.
--
-- It waits less for a lock than other statements: everything that writes to the log waits behind it meanwhile.
create or replace function queries_make_partitions(moment timestamptz, months integer) returns void
language plpgsql set lock_timeout = '500ms' as $$
declare
  month date;
begin
  perform pg_advisory_xact_lock(hashtext('queries_make_partitions'));
  for month in
    select generate_series(
      date_trunc('month', moment at time zone 'utc'),
      date_trunc('month', moment at time zone 'utc') + make_interval(months => months - 1),
      interval '1 month'
    )
  loop
    if to_regclass('queries_' || to_char(month, 'YYYY_MM')) is null then
      begin
        execute format(
          'create table %I partition of queries for values from (%L) to (%L)',
          'queries_' || to_char(month, 'YYYY_MM'),
          month::timestamp at time zone 'utc',
          (month + interval '1 month')::timestamp at time zone 'utc'
        );
      exception when check_violation then
        -- The default partition holds rows of this month already, and goes on holding it.
        null;
      end;
    end if;
  end loop;
end $$;
