-- For those who operate Quarry.

-- Running processes of the server, each with its latest heartbeat. `Replicas` forgets those that are long silent.
-- skew_ms: the replica's clock less this server's. vitals: what the replica reports of itself, as JSON.
create table if not exists replicas (
  id text primary key,
  host text not null,
  version text not null,
  started_at timestamptz not null,
  seen_at timestamptz not null,
  skew_ms bigint not null,
  vitals jsonb not null
);

-- Entries of all accounts in a span of time. The log grows in the order of time, so that this index has one small entry
-- for 128 pages, and costs a search nothing that can be measured.
create index if not exists queries_created_at on queries using brin (created_at) with (autosummarize = on);
