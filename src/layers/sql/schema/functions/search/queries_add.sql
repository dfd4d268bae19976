-- Writes log entries for holds, or parts of holds, that a settlement has charged or ended. `records` has the columns of
-- a log entry (`LogRow.ts`) and `n`, the position of its hold in `hold_ids`. Skips entries of expired holds, which were
-- not charged and whose callers got an error. Runs with the planner settings of its caller (see ledger_reserve).
create or replace function queries_add(hold_ids text[], ended boolean[], records json) returns void
language plpgsql as $$
begin
  insert into queries (
    id, hold_id, account_id, key_id, batch_id, target, query, geo, locale, page, num, safe, source, outcome,
    credits, cached, provider, result_count, duration_ms, request_id, row_index, refusals, host, reason, bytes, options, person_id
  )
  select r.id, hold_ids[r.n], r.account_id, r.key_id, r.batch_id, r.target, r.query, r.geo, r.locale, r.page, r.num,
    r.safe, r.source, r.outcome, r.credits, r.cached, r.provider, r.result_count, r.duration_ms, r.request_id,
    r.row_index, r.refusals, r.host, r.reason, r.bytes, r.options, r.person_id
  from json_to_recordset(records) as r (
    n bigint, id text, account_id text, key_id text, batch_id text, target text, query text, geo text,
    locale text, page integer, num integer, safe text, source text, outcome text, credits integer,
    cached boolean, provider text, result_count integer, duration_ms bigint, request_id uuid, row_index smallint,
    refusals jsonb, host text, reason text, bytes bigint, options jsonb, person_id text
  )
  where ended[r.n];
end $$;
