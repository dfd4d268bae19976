-- Truncates the partition that the next day will use, whose keys are more than a day old. Has a short lock timeout,
-- because reservations with a key queue behind its lock request.
create or replace function idempotency_clear(moment timestamptz) returns void
language plpgsql set lock_timeout = '500ms' as $$
declare
  partition text := 'idempotency_keys_' || idempotency_slot(moment + interval '1 day');
  has_rows boolean;
begin
  execute format('select exists (select from %I)', partition) into has_rows;
  if has_rows then
    execute format('truncate %I', partition);
  end if;
end $$;
