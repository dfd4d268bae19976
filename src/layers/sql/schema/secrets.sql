-- The secrets that this database's keys and sessions were made with, by fingerprints from which nobody finds them.

-- previous: the value that a rotation leaves. Things that were made with it are still accepted.
create table secret_fingerprints (
  name text not null check (name in ('KEY_PEPPER', 'AUTH_SECRET')),
  role text not null check (role in ('current', 'previous')),
  fingerprint text not null,
  since timestamptz not null default clock_timestamp(),
  primary key (name, role)
);

-- The values that each running process has: a rotation begins when all have the new one.
create table secret_holders (
  process text not null,
  name text not null,
  fingerprints text[] not null,
  seen_at timestamptz not null,
  primary key (process, name)
);
