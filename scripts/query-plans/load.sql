-- `rows` charged searches of `accounts` accounts (10,000) over six months; one account has a tenth of them. What the log
-- says, the ledger says too, so that `ledger verify` has as much to compare and finds nothing.
--
-- bench/log/scale.ts sets more. months: those before this one in which the searches were. kept: those of them that the
-- log still has. share: the large account has one search of so many.
\if :{?months} \else \set months 5 \endif
\if :{?kept} \else \set kept :months \endif
\if :{?share} \else \set share 10 \endif
\if :{?accounts} \else \set accounts 10000 \endif
-- Indexes are made after the rows, which is many times faster, and are the same that the migrations made.
create temp table made_indexes as
  select format('alter table %s drop constraint %I', conrelid::regclass, conname) as remove,
    format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as make
  from pg_constraint
  where conrelid in ('queries'::regclass, 'ledger_entries'::regclass) and contype in ('p', 'u')
  union all
  select format('drop index %s', indexrelid::regclass), replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ')
  from pg_index
  where indrelid in ('queries'::regclass, 'ledger_entries'::regclass)
    and not exists (select from pg_constraint where conindid = indexrelid);

create temp table span as
  select date_trunc('month', now()) - make_interval(months => :months) as since,
    date_trunc('month', now()) - make_interval(months => :kept) as kept_since;
select queries_make_partitions(kept_since, :kept + 4) from span;
select remove from made_indexes \gexec

insert into accounts (id, email, plan, quota, concurrency, cycle_start, created_at)
  select 'acc_' || md5(n::text), n || '@example.com', 'custom', 1000000000, 50, since, since
  from generate_series(0, :accounts - 1) as n, span;
insert into wallets (account_id) select id from accounts;
insert into allowances (scope, period_start, period_end, quota)
  select id, since, now() + interval '1 year', quota from accounts, span;
update accounts a set allowance_id = l.id from allowances l where l.scope = a.id;
insert into api_keys (id, account_id, label, mode, digest, hint, created_at)
  select 'key_' || md5(id), id, 'key', 'live', sha256(('key' || split_part(email, '@', 1))::bytea), 'sk_live_', created_at
  from accounts;

create temp table numbered as
  select row_number() over () - 1 as n, id, allowance_id from (select id, allowance_id from accounts order by email) as t;
create unique index on numbered (n);
analyze numbered;

create temp table loaded as
  select s.n, md5('search' || s.n) as search, md5('hold' || s.n) as hold, a.id as account_id, a.allowance_id,
    since + (now() - since) * (s.n / :rows::float8) as at
  from (
    select n, case when n % :share = 0 then 0 else (hashint8(n)::bigint & 2147483647) % :accounts end as account
    from generate_series(1, :rows) as n
  ) as s join numbered a on a.n = s.account cross join span;

insert into queries (
  id, hold_id, account_id, key_id, target, query, geo, locale, page, num, safe, source, outcome, credits, cached,
  provider, result_count, duration_ms, request_id, refusals, created_at
)
  select 'qry_' || search, 'hld_' || hold, account_id, 'key_' || md5(account_id),
    (array['alpha_search', 'beta_search', 'gamma_search', 'delta_search', 'epsilon_search', 'zeta_search'])[1 + n % 6],
    'what people look for ' || n % 100000, 'us', 'en-us', 1, 10, 'off', (array['api', 'mcp', 'dashboard'])[1 + n % 3],
    case when n % 50 = 0 then 'upstream_error' else 'ok' end, 1, n % 5 = 0, 'meta/google', n % 11, n % 3000,
    gen_random_uuid(), case when n % 50 = 0 then '[{"provider": "meta/google", "reason": "timeout", "ms": 5003}]'::jsonb end,
    at
  from loaded, span where at >= kept_since;
insert into ledger_entries (account_id, allowance_id, kind, quota_credits, balance_credits, cause, created_at)
  select account_id, allowance_id, 'search', 1, 0, 'hld_' || hold, at from loaded;
-- Without statistics, the trigger of each row reads an index of all accounts: hours for 100,000 of them.
analyze accounts, wallets, allowances;
update allowances l set used = t.used
  from (select allowance_id, count(*) as used from loaded group by 1) as t where t.allowance_id = l.id;
drop table loaded;

select make from made_indexes \gexec
analyze;
