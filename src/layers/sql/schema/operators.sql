-- The operators' word on accounts, and the record of their commands.

-- Null: the account is not suspended.
alter table accounts add column suspended_at timestamptz;

-- The pack balance after a grant, which is the answer to the same grant again. Null for other kinds.
alter table ledger_entries add column balance_after bigint;

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
