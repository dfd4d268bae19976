-- Creates missing partitions of the log, of its hourly counts and of accounts' events for `months` months, starting with
-- the month of `moment`.
--
-- Has a short lock timeout, because all writes to the log queue behind its lock request.
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
    ) as month, unnest(array['queries', 'usage_hours', 'account_events']) as parent
    where to_regclass(parent || to_char(month, '_YYYY_MM')) is null
  loop
    begin
      execute format(
        'create table %I partition of %I for values from (%L) to (%L)',
        missing.name, missing.parent, missing.first, missing.next
      );
    exception when check_violation then
      -- The default partition already has rows of this month, and keeps taking them.
      null;
    end;
  end loop;
end $$;
