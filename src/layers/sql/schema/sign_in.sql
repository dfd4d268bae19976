-- Users, their sign-in methods and sessions. These are tables of the sign-in library under our own names.

-- account_id is null until the user is allowed an account: see `layers/auth/oauth/Membership.ts`.
create table auth_users (
  id text primary key,
  email text not null unique,
  email_verified boolean not null,
  name text not null,
  image text,
  account_id text unique references accounts (id),
  created_at timestamptz not null,
  updated_at timestamptz not null
);

-- One row per sign-in method of a user: a password, or an identity at a provider. A provider's tokens are not stored.
create table auth_identities (
  id text primary key,
  user_id text not null references auth_users (id) on delete cascade,
  provider text not null,
  subject text not null,
  password text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (provider, subject)
);
create index auth_identities_user on auth_identities (user_id);

-- digest: of the session token, which only the cookie contains.
create table auth_sessions (
  id text primary key,
  user_id text not null references auth_users (id) on delete cascade,
  digest text not null unique,
  expires_at timestamptz not null,
  ip_address text,
  user_agent text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index auth_sessions_user on auth_sessions (user_id);
create index auth_sessions_expires_at on auth_sessions (expires_at);

-- digest: of a single-use token sent by email. value: the user it belongs to.
create table auth_verifications (
  id text primary key,
  digest text not null,
  value text not null,
  expires_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index auth_verifications_digest on auth_verifications (digest);
create index auth_verifications_value on auth_verifications (value);
create index auth_verifications_expires_at on auth_verifications (expires_at);

create table auth_rate_limits (
  id text primary key,
  key text not null unique,
  count integer not null,
  last_request bigint not null
);

-- Failed passwords and sent emails per address. digest: of the address, so that unknown addresses are not stored.
create table auth_attempts (
  digest text primary key,
  count integer not null,
  began_at timestamptz not null
);
create index auth_attempts_began_at on auth_attempts (began_at);
