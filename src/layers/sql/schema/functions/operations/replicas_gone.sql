-- Replicas that missed heartbeats for 20 seconds while others sent theirs (`silentAfterMs`).
create or replace function replicas_gone() returns text[] language sql stable as $$
  select array_agg(id) from replicas where watched_ms <= (select max(watched_ms) from replicas) - 20000
$$;
