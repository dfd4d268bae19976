-- Fingerprints of the secrets behind this database's keys and sessions. Secrets cannot be derived from them.

-- previous: the value that a rotation replaces, which is still accepted.
create table secret_fingerprints (
  name text not null check (name in ('KEY_PEPPER', 'AUTH_SECRET')),
  role text not null check (role in ('current', 'previous')),
  fingerprint text not null,
  since timestamptz not null default clock_timestamp(),
  primary key (name, role)
);

-- The values that each running process has. A rotation starts once all have the new one.
create table secret_holders (
  process text not null,
  name text not null,
  fingerprints text[] not null,
  seen_at timestamptz not null,
  primary key (process, name)
);
