-- Columns that explain a failed search from the database alone: the id of its request, its position in the batch from 0,
-- and the reasons for which providers gave it nothing.

alter table queries
  add column request_id uuid,
  add column row_index smallint,
  -- [{"provider", "reason", "ms"}], at most eight. Null where no provider refused.
  add column refusals jsonb;
-- Clients quote the id of a request. Its entries may be anywhere in the log.
create index if not exists queries_request on queries (request_id) where request_id is not null;
