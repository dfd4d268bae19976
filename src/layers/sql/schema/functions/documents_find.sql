-- Candidates for a search of the built-in index: what each of the lookups finds, until there are enough. One call, so
-- that the less exact lookups cost no round trip. A lookup that finds thousands gives the documents with the shortest
-- titles.
--
-- A scan of the whole table would parse every document again: the settings leave the index as the only way. The bitmap
-- of a lookup must fit into work_mem, because a lossy one parses the documents of whole pages.
create or replace function documents_find(
  lookups text[],
  limits integer[],
  enough integer,
  wanted_target text,
  phrases text[],
  excluded_phrases text[]
) returns table (lookup integer, id text, url text, language text, terms text)
language plpgsql stable
set enable_seqscan = off set work_mem = '32MB' set plan_cache_mode = force_generic_plan
set jit = off as $$
declare
  max_matches constant integer := 3000;
  max_terms_length constant integer := 3000;
  found_so_far integer := 0;
  found_now integer;
begin
  for position in 1 .. cardinality(lookups) loop
    return query
      select position, found.id::text, found.url, found.language, left(found.terms, max_terms_length)
      from (
        select d.id, d.url, d.title, d.language, d.terms
        from indexed_documents d
        where d.terms::tsvector @@ lookups[position]::tsquery
          and (d.target is null or d.target = wanted_target)
          and not exists (select from unnest(phrases) as phrase where strpos(d.terms, phrase) = 0)
          and not exists (select from unnest(excluded_phrases) as phrase where strpos(d.terms, phrase) > 0)
        limit max_matches
      ) as found
      order by char_length(found.title), found.id
      limit limits[position];
    get diagnostics found_now = row_count;
    found_so_far := found_so_far + found_now;
    exit when found_so_far >= enough;
  end loop;
end $$;
