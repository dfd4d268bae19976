-- The audit log of operator commands, and the running processes.

-- One row per operator command that changed or revealed something. It outlives the account, so its arguments contain
-- neither secrets nor personal data.
create table audit_entries (
  id bigint generated always as identity primary key,
  created_at timestamptz not null default clock_timestamp(),
  operator text not null,
  command text not null,
  subject text,
  arguments jsonb not null
);
create index audit_entries_subject on audit_entries (subject, id desc) where subject is not null;

create function audit_forbid_change() returns trigger language plpgsql as $$
begin
  raise exception 'audit_entries is append-only';
end $$;
create trigger audit_entries_append_only before update or delete or truncate on audit_entries
for each statement execute function audit_forbid_change();
-- Also fires in replication sessions, where other triggers do not.
alter table audit_entries enable always trigger audit_entries_append_only;

-- Running server processes, each with its latest heartbeat. `Replicas` deletes replicas that have been silent for long.
-- skew_ms: the replica's clock minus this server's. vitals: the replica's reported state, as JSON. address: where it
-- accepts requests. commit: its build.
--
-- watched_ms: total time in which heartbeats of any replica arrived, as of this replica's latest heartbeat. It does not
-- advance while the database accepts no heartbeats. So a replica that lags behind the others is dead, and not merely
-- affected by an outage of the database.
create table replicas (
  id text primary key,
  host text not null,
  version text not null,
  started_at timestamptz not null,
  seen_at timestamptz not null,
  skew_ms bigint not null,
  vitals jsonb not null,
  address text,
  commit text,
  watched_ms bigint not null default 0
);
