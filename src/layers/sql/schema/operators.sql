-- The record of the operators' commands, and the running processes.

-- One row for each command of an operator that changed something or gave something out. It outlives the account, so that
-- arguments hold neither secrets nor personal data.
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
-- Fires in replication sessions too, in which other triggers do not.
alter table audit_entries enable always trigger audit_entries_append_only;

-- Running processes of the server, each with its latest heartbeat. `Replicas` removes replicas that have been silent for long.
-- skew_ms: the replica's clock less this server's. vitals: what the replica reports of itself, as JSON. address: where it
-- takes requests. commit: its build.
--
-- watched_ms: the time in which heartbeats arrived, of any replica, up to the latest heartbeat of this one. It stands
-- still while the database takes no heartbeats, so that a replica which is behind the others in it is gone, and the
-- database was not.
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
