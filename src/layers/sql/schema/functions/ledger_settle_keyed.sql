-- ledger_settle for holds of requests that have an idempotency key (R44): it keeps each answer under its key, in the same
-- transaction as the charge. A hold that had expired keeps none, because nothing was charged.
--
-- `answers` has the bytes of all answers one after the other, and `answer_bytes` the length of each.
create or replace function ledger_settle_keyed(
  hold_ids text[], account_ids text[], charges bigint[], records json, routes text[], keys text[],
  answers bytea, answer_bytes integer[]
)
returns table (n bigint, charged bigint, balance bigint)
language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set enable_material = off set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
  settled record;
  start integer := 1;
begin
  for settled in select s.* from ledger_settle(hold_ids, account_ids, charges, records) s order by s.n loop
    if settled.charged > 0 then
      update idempotency_keys k set answer = substring(answers from start for answer_bytes[settled.n])
        where k.account_id = account_ids[settled.n] and k.route = routes[settled.n] and k.key = keys[settled.n]
          and k.hold_id = hold_ids[settled.n];
    end if;
    start := start + answer_bytes[settled.n];
    n := settled.n;
    charged := settled.charged;
    balance := settled.balance;
    return next;
  end loop;
end $$;
