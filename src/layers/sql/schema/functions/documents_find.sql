-- Candidates for a search of the built-in index: what each of the lookups finds, the most exact first. A lookup is left
-- out when those before it have found enough. One call, so that the less exact lookups cost no round trip.
--
-- What is read of the table has a bound: of the first documents that a lookup finds, those with the shortest titles are
-- candidates, and a phrase is looked for in the first few thousand that have its words. A scan of the whole table would parse every document again, so that the settings leave the
-- index as the only way; the bitmap of a lookup must fit into work_mem for the same reason.
create or replace function documents_find(
  lookups text[],
  limits integer[],
  enough integer[],
  wanted_target text,
  phrases text[],
  excluded_phrases text[]
) returns table (lookup integer, id text, url text, language text, terms text)
language plpgsql stable
set enable_seqscan = off set work_mem = '32MB' set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  max_read constant integer := 3000;
  max_matches constant integer := 600;
  max_terms_length constant integer := 3000;
  found_so_far integer := 0;
  found_now integer;
begin
  for position in 1 .. cardinality(lookups) loop
    continue when found_so_far >= enough[position];
    return query
      with held as (
        select m.id, m.title, m.terms
        from indexed_documents m
        where m.terms::tsvector @@ lookups[position]::tsquery
          and (m.target is null or m.target = wanted_target)
        limit max_read
      ), matched as (
        select h.id, char_length(h.title) as title_length
        from held h
        where (phrases = '{}' or not exists (select from unnest(phrases) as phrase where strpos(h.terms, phrase) = 0))
          and (excluded_phrases = '{}'
            or not exists (select from unnest(excluded_phrases) as phrase where strpos(h.terms, phrase) > 0))
        limit max_matches
      ), best as (
        select m.id from matched m order by m.title_length, m.id limit limits[position]
      )
      select position, d.id::text, d.url, d.language, left(d.terms, max_terms_length)
      from best join indexed_documents d on d.id = best.id;
    get diagnostics found_now = row_count;
    found_so_far := found_so_far + found_now;
  end loop;
end $$;
