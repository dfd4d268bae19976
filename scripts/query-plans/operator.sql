-- What the operator's console reads besides searches: three keys for each account, payments, webhooks, events, commands and
-- documents.
set session_replication_role = replica;
update api_keys set
  hint = 'sk_live_' || left(md5(id), 4) || '…' || right(md5(id), 4),
  label = (array['production', 'staging', 'agent', 'crawler'])[1 + abs(hashtext(id) % 4)] || ' ' || left(md5(id), 6),
  last_used_at = now() - random() * interval '30 days';
insert into api_keys (id, account_id, label, mode, digest, hint, created_at, revoked_at)
  select 'key_' || md5(account_id || n), account_id, 'old ' || left(md5(account_id || n), 6), 'test',
    sha256((account_id || n)::bytea), 'sk_test_' || left(md5(account_id || n), 4) || '…' || right(md5(account_id || n), 4),
    created_at, now()
  from api_keys, generate_series(1, 2) as n;
update accounts set plan = 'growth' where abs(hashtext(id)) % 5 = 0;
update accounts set suspended_at = now() where abs(hashtext(id)) % 500 = 0;
insert into auth_users (id, email, email_verified, name, created_at, updated_at)
  select 'usr_' || md5(id), email, true, '', created_at, created_at from accounts;
insert into members (id, account_id, role, user_id, created_at)
  select 'mem_' || md5(id), id, 'owner', 'usr_' || md5(id), created_at from accounts;
insert into auth_sessions (id, user_id, account_id, digest, expires_at, created_at, updated_at)
  select 'ses_' || md5(id || n), 'usr_' || md5(id), id, md5(id || n), now() + interval '7 days', now(), now()
  from accounts, generate_series(1, 2) as n;
insert into billing_subscriptions (
  id, account_id, plan, status, period_start, period_end, started_at, cancel_at_period_end, modified_at, first_plan,
  past_due_at
)
  select 'sub_' || md5(id || n), id, 'growth',
    case when abs(hashtext(id)) % 50 = 0 then 'past_due' when n = 2 and abs(hashtext(id)) % 1000 <> 5 then 'ended' else 'active' end,
    now() - interval '9 days', now() + interval '20 days', created_at, false, now(), 'growth',
    case when abs(hashtext(id)) % 50 = 0 then now() - interval '2 days' end
  from accounts, generate_series(1, 2) as n where plan = 'growth';
insert into billing_orders (id, account_id, kind, status, net_cents, refunded_cents, reading, created_at)
  select 'ord_' || md5(id || n), id, (array['plan', 'pack'])[1 + n % 2], 'paid', 4900, 0, 1, now() - n * interval '25 days'
  from accounts, generate_series(0, 5) as n where plan = 'growth';
insert into webhook_endpoints (id, account_id, url, types, secret, secret_key, created_at)
  select 'whk_' || md5(id || n), id, 'https://hooks.example/' || n, '{}', '', '', now()
  from accounts, generate_series(1, 3) as n where email in ('0@example.com', '1@example.com');
insert into events (id, account_id, type, cause, data, created_at)
  select 'evt_' || n, id, 'credits.low', 'cause' || n, '{}', now() from accounts, generate_series(1, 10000) as n where email = '0@example.com';
insert into event_deliveries (id, event_id, account_id, endpoint_id, status, due_at, created_at)
  select 'dlv_' || v.id || w.id, v.id, v.account_id, w.id, case when right(v.id, 1) = '0' then 'pending' else 'delivered' end, now(), now()
  from events v join webhook_endpoints w on w.account_id = v.account_id;
insert into account_events (id, account_id, type, actor, changes, created_at)
  select 'act_' || md5(id || n), id, 'key.created', 'usr_' || md5(id), '{}', now() - n * interval '1 day'
  from accounts, generate_series(1, case when email = '0@example.com' then 5000 else 5 end) as n;
insert into audit_entries (operator, command, subject, arguments, created_at)
  select 'operator' || n % 7 || '@example.com', (array['account suspend', 'account grant', 'key revoke'])[1 + n % 3],
    'acc_' || md5((n % 100000)::text), '{"reason": "asked"}', now() - (100000 - n) * interval '1 minute'
  from generate_series(1, 100000) as n;
insert into indexed_documents (target, url, title, description, content, language)
  select (array[null, 'alpha_search', 'beta_search'])[1 + n % 3], 'https://docs.example/' || n, 'Title', '', repeat('x', 2000),
    (array['en', 'de', 'fr', null])[1 + n % 4]
  from generate_series(1, 200000) as n;
insert into ledger_verifications (started_at, finished_at, accounts) values (now() - interval '1 minute', now(), 100000);
analyze;
