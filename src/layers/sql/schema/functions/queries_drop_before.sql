-- queries_drop_month for versions that do not know the stored retention: they ask for what their own setting would drop, and
-- get no more than the stored retention allows.
create or replace function queries_drop_before(moment timestamptz) returns void
language plpgsql set lock_timeout = '500ms' as $$
begin
  while queries_drop_month(moment) is not null loop
    null;
  end loop;
end $$;
