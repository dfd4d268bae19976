-- Apps that users authorize by OAuth, and their tokens. These are tables of the sign-in library under our own names.

-- Lists are stored as JSON text, as the library writes them. The client ID of an app with a metadata document is the
-- document's URL.
create table auth_apps (
  id text primary key,
  client_id text not null unique,
  name text,
  redirect_uris text not null,
  scopes text not null,
  grant_types text not null,
  response_types text not null,
  token_endpoint_auth_method text not null,
  application_type text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- When the app's metadata document is fetched again. Null for an app that registered itself.
  document_expires_at timestamptz
);
create index auth_apps_created_at on auth_apps (created_at);

-- Resources that tokens are issued for, and the apps that may request them.
create table auth_resources (
  id text primary key,
  identifier text not null unique,
  name text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

create table auth_app_resources (
  id text primary key,
  client_id text not null references auth_apps (client_id) on delete cascade,
  resource text not null references auth_resources (identifier) on delete cascade,
  created_at timestamptz not null,
  unique (client_id, resource)
);

create table auth_consents (
  id text primary key,
  user_id text not null references auth_users (id) on delete cascade,
  client_id text not null references auth_apps (client_id) on delete cascade,
  resources text,
  scopes text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index auth_consents_user on auth_consents (user_id);
create index auth_consents_client on auth_consents (client_id);

-- Foreign keys are checked in declaration order. The user must be locked first, as in statements that end all of a
-- user's sessions, to avoid deadlocks.
create table auth_refresh_tokens (
  id text primary key,
  digest text not null unique,
  user_id text not null references auth_users (id) on delete cascade,
  client_id text not null references auth_apps (client_id) on delete cascade,
  session_id text references auth_sessions (id) on delete set null,
  code_digest text,
  resources text,
  scopes text not null,
  expires_at timestamptz not null,
  created_at timestamptz not null,
  revoked_at timestamptz,
  rotated_at timestamptz,
  rotation_settled_at timestamptz,
  signed_in_at timestamptz
);
create index auth_refresh_tokens_user_id on auth_refresh_tokens (user_id);
create index auth_refresh_tokens_client_id on auth_refresh_tokens (client_id);
create index auth_refresh_tokens_session_id on auth_refresh_tokens (session_id);
create index auth_refresh_tokens_code_digest on auth_refresh_tokens (code_digest);
create index auth_refresh_tokens_expires_at on auth_refresh_tokens (expires_at);

create table auth_access_tokens (
  id text primary key,
  digest text not null unique,
  user_id text not null references auth_users (id) on delete cascade,
  client_id text not null references auth_apps (client_id) on delete cascade,
  session_id text references auth_sessions (id) on delete set null,
  code_digest text,
  resources text,
  scopes text not null,
  expires_at timestamptz not null,
  created_at timestamptz not null,
  revoked_at timestamptz,
  refresh_id text references auth_refresh_tokens (id) on delete cascade
);
create index auth_access_tokens_refresh on auth_access_tokens (refresh_id);
create index auth_access_tokens_user_id on auth_access_tokens (user_id);
create index auth_access_tokens_client_id on auth_access_tokens (client_id);
create index auth_access_tokens_session_id on auth_access_tokens (session_id);
create index auth_access_tokens_code_digest on auth_access_tokens (code_digest);
create index auth_access_tokens_expires_at on auth_access_tokens (expires_at);
