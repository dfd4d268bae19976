-- The people of an account (R67), and the accounts that sessions and apps act for.

create table members (
  id text primary key,
  account_id text not null references accounts (id),
  role text not null check (role in ('owner', 'developer', 'billing', 'viewer')),
  -- Null for an invitation that was not accepted yet.
  user_id text references auth_users (id) on delete cascade,
  -- Of an invitation: its address, the digest of its link's token, and its expiry. Null after it was accepted.
  email text,
  digest text unique,
  expires_at timestamptz,
  created_at timestamptz not null,
  constraint members_joined_or_invited check (
    (user_id is null) = (email is not null) and (email is null) = (digest is null) and (email is null) = (expires_at is null)
  ),
  unique (account_id, user_id),
  unique (account_id, email)
);
create index members_user on members (user_id) where user_id is not null;
create index members_email on members (email) where email is not null;

-- A session uses one account. A token belongs to the account that its person allowed the app to use.
alter table auth_sessions add column account_id text references accounts (id);
alter table auth_consents add column account_id text references accounts (id);
alter table auth_refresh_tokens add column account_id text references accounts (id);
alter table auth_access_tokens add column account_id text references accounts (id);
create index auth_sessions_account on auth_sessions (account_id);

-- The person who created the key. No reference: the key outlives the person.
alter table api_keys add column created_by text;

insert into members (id, account_id, role, user_id, created_at)
select 'mem_' || replace(gen_random_uuid()::text, '-', ''), account_id, 'owner', id, created_at
from auth_users where account_id is not null;
update auth_sessions t set account_id = u.account_id from auth_users u where u.id = t.user_id;
update auth_consents t set account_id = u.account_id from auth_users u where u.id = t.user_id;
update auth_refresh_tokens t set account_id = u.account_id from auth_users u where u.id = t.user_id;
update auth_access_tokens t set account_id = u.account_id from auth_users u where u.id = t.user_id;
alter table auth_users drop column account_id;
