-- The people who may use the operator's console. A person who is deleted is an operator no longer.
create table operators (
  user_id text primary key references auth_users (id) on delete cascade,
  role text not null check (role in ('operator', 'observer')),
  since timestamptz not null default clock_timestamp(),
  -- The operator who added the person, as in audit_entries.
  added_by text not null
);
