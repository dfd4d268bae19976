import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Apps that people let in by OAuth, and their tokens: tables of the sign-in library, under names of our own. */
export const apps = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Lists of text are JSON, as the library writes them.
  yield* sql`
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
      updated_at timestamptz not null
    )`
  yield* sql`create index auth_apps_created_at on auth_apps (created_at)`

  // What tokens are issued for, and which apps may ask for it.
  yield* sql`
    create table auth_resources (
      id text primary key,
      identifier text not null unique,
      name text not null,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`
  yield* sql`
    create table auth_app_resources (
      id text primary key,
      client_id text not null references auth_apps (client_id) on delete cascade,
      resource text not null references auth_resources (identifier) on delete cascade,
      created_at timestamptz not null,
      unique (client_id, resource)
    )`

  yield* sql`
    create table auth_consents (
      id text primary key,
      user_id text not null references auth_users (id) on delete cascade,
      client_id text not null references auth_apps (client_id) on delete cascade,
      resources text,
      scopes text not null,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`
  yield* sql`create index auth_consents_user on auth_consents (user_id)`
  yield* sql`create index auth_consents_client on auth_consents (client_id)`

  // Foreign keys are checked in their order: the person is locked first, as by whoever ends everything of a person.
  const token = sql.literal(`
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
      revoked_at timestamptz`)
  yield* sql`
    create table auth_refresh_tokens (${token},
      rotated_at timestamptz,
      rotation_settled_at timestamptz,
      signed_in_at timestamptz
    )`
  yield* sql`
    create table auth_access_tokens (${token},
      refresh_id text references auth_refresh_tokens (id) on delete cascade
    )`
  yield* sql`create index auth_access_tokens_refresh on auth_access_tokens (refresh_id)`
  for (const table of ["auth_refresh_tokens", "auth_access_tokens"]) {
    for (const column of ["user_id", "client_id", "session_id", "code_digest", "expires_at"]) {
      yield* sql`create index ${sql(`${table}_${column}`)} on ${sql(table)} (${sql(column)})`
    }
  }
})
