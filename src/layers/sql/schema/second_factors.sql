-- Second factors of people (R66): tables of the sign-in library under our own names.

-- True once the person has confirmed an authenticator app.
alter table auth_users add column two_factor_enabled boolean not null default false;

-- A person's authenticator app. secret and recovery_codes (the unused ones) are encrypted with AUTH_SECRET.
create table auth_authenticators (
  id text primary key,
  user_id text not null unique references auth_users (id) on delete cascade,
  secret text not null check (starts_with(secret, '$ba$')),
  recovery_codes text not null check (starts_with(recovery_codes, '$ba$')),
  -- False until the person has entered a first code.
  verified boolean not null
);

create table auth_passkeys (
  id text primary key,
  user_id text not null references auth_users (id) on delete cascade,
  name text,
  public_key text not null,
  credential_id text not null unique,
  -- The authenticator's count of signatures. Many authenticators always report 0.
  counter bigint not null check (counter >= 0),
  device_type text not null check (device_type in ('singleDevice', 'multiDevice')),
  backed_up boolean not null,
  transports text,
  aaguid text,
  created_at timestamptz not null
);
create index auth_passkeys_user on auth_passkeys (user_id);

-- Factors in an account's activity (R68).
create trigger auth_authenticators_add_activity after update of verified on auth_authenticators for each row
when (new.verified and not old.verified) execute function account_events_of_persons_row('factor.added', 'user_id');
create trigger auth_authenticators_delete_activity after delete on auth_authenticators for each row
when (old.verified) execute function account_events_of_persons_row('factor.removed', 'user_id');
create trigger auth_passkeys_add_activity after insert on auth_passkeys for each row
execute function account_events_of_persons_row('factor.added', 'user_id');
create trigger auth_passkeys_delete_activity after delete on auth_passkeys for each row
execute function account_events_of_persons_row('factor.removed', 'user_id');
