-- The statements of the hot path, as the service sends them, each with the plan of every statement inside it.
\set QUIET on
\pset format unaligned
\pset tuples_only on
select id as hot from accounts where email = '0@example.com' \gset
select array_agg(id) as crowd from (select id from accounts order by md5(id) limit 64) as t \gset
select array_agg(sha256(('key' || n)::bytea)) as digests from generate_series(1, 64) as n \gset

-- A connection's first statements plan and read the catalogue; what follows is what a busy one does.
load 'auto_explain';
set auto_explain.log_min_duration = 0;
set auto_explain.log_analyze = on;
set auto_explain.log_buffers = on;
set auto_explain.log_nested_statements = on;
set auto_explain.log_level = notice;
set auto_explain.log_timing = on;
set client_min_messages = warning;
begin;
\o /dev/null
select * from ledger_reserve(:'crowd'::text[], array(select 'warm' || n from generate_series(1, 64) as n), array_fill(1::bigint, array[64]), clock_timestamp(), 105000);
select * from ledger_settle(array(select 'warm' || n from generate_series(1, 64) as n), :'crowd'::text[], array_fill(0::bigint, array[64]), '[]');
\o
set client_min_messages = notice;

\echo '## Reserve: ledger_reserve, 64 accounts in one batch'
select count(*) from ledger_reserve(
  :'crowd'::text[], array(select 'hld_plan' || n from generate_series(1, 64) as n), array_fill(1::bigint, array[64]),
  clock_timestamp(), 105000
);

\echo '## Settle: ledger_settle, 64 accounts in one batch, a charge and a log entry each'
select json_agg(json_build_object(
  'n', n, 'id', 'qry_plan' || n, 'account_id', (:'crowd'::text[])[n], 'target', 'alpha_search', 'query', 'q', 'geo', 'us',
  'locale', 'en-us', 'page', 1, 'num', 10, 'safe', 'off', 'source', 'api', 'outcome', 'ok', 'credits', 1,
  'cached', false, 'provider', 'meta/google', 'result_count', 10, 'duration_ms', 300,
  'request_id', gen_random_uuid()
)) as records from generate_series(1, 64) as n \gset
select count(*) from ledger_settle(
  array(select 'hld_plan' || n from generate_series(1, 64) as n), :'crowd'::text[], array_fill(1::bigint, array[64]),
  :'records'
);

\echo '## Sweep: ledger_sweep, nothing expired'
select ledger_sweep(500);

\echo '## Recent searches of the account with a million of them'
select * from queries where account_id = :'hot' order by created_at desc, ordinal desc limit 50 \g /dev/null

\echo '## Terms of an account'
select l.quota, l.used, w.balance, a.plan, a.cycle_start, l.period_start, l.period_end
from accounts a join wallets w on w.account_id = a.id left join allowances l on l.id = a.allowance_id
where a.id = :'hot' \g /dev/null

\echo '## The principals of 64 keys'
select a.*, k.id as key_id, k.label, k.mode, k.last_used_at, k.digest
from api_keys k join accounts a on a.id = k.account_id
where k.digest = any (:'digests'::bytea[]) and k.revoked_at is null and a.deleted_at is null \g /dev/null
rollback;
