-- Running processes of the server, each with its latest heartbeat. `Replicas` forgets those that are long silent.

-- skew_ms: the replica's clock less this server's. vitals: what the replica reports of itself, as JSON.
create table if not exists replicas (
  id text primary key,
  host text not null,
  version text not null,
  started_at timestamptz not null,
  seen_at timestamptz not null default clock_timestamp(),
  skew_ms bigint not null,
  vitals jsonb not null
);
