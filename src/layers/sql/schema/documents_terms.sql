-- The documents of the built-in index, with the terms by which they are found. `terms` is made by
-- src/domain/relevance/DocumentTerms.ts and is a valid tsvector as it stands, so that Postgres indexes it without a
-- parser or a stemmer of its own, and both databases find the same. The vector itself is in the index alone.
--
-- The table `documents` is what versions before this migration use. The migration copies it; a later one drops it.
create table indexed_documents (
  id bigint generated always as identity primary key,
  target text,
  url text not null,
  title text not null,
  description text not null,
  content text not null,
  language text,
  terms text not null
);

-- A digest, because an address may be longer than an index entry.
create unique index indexed_documents_address on indexed_documents ((md5(url)::uuid), coalesce(target, ''));

-- The statistics of this index are the figures of words: how many documents have each of the 5,000 most common terms,
-- of a sample of 150,000. While
-- documents are loaded, new ones wait in a list that every search reads, because many at once are indexed in less than
-- half of the time. The list is short, and a load empties it at its end.
create index indexed_documents_terms on indexed_documents
  using gin ((terms::tsvector)) with (fastupdate = on, gin_pending_list_limit = 128);
alter index indexed_documents_terms alter column 1 set statistics 500;

-- The addresses that a load has seen, to remove the others at its end. Rows of a load that was killed are left over;
-- the next load removes those that are older than a day.
create table document_loads (
  load uuid not null,
  address uuid not null,
  started_at timestamptz not null default now(),
  primary key (load, address)
);
