-- Where a person has signed in (R66). digest: of the kind of browser and the network.

create table auth_places (
  user_id text not null references auth_users (id) on delete cascade,
  digest text not null,
  seen_at timestamptz not null,
  primary key (user_id, digest)
);
