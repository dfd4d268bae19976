-- The documents of the built-in index.
create table indexed_documents (
  id bigint generated always as identity primary key,
  target text,
  url text not null,
  title text not null,
  headings text not null default '',
  description text not null,
  content text not null,
  language text,
  -- A date, or a date-time in UTC, in ISO 8601. Null for a document that states none.
  published text
);

-- A digest, because an address may be longer than an index entry.
create unique index indexed_documents_address on indexed_documents ((md5(url)::uuid), coalesce(target, ''));

-- The inverted index of the built-in index: for each term the documents that have it, as bytes that
-- src/domain/index/postings.ts writes and reads. A load writes a segment of it for each few thousand documents, and
-- segments are merged as they become many. The numbers of a segment's documents are greater than those of the segments
-- before it, so that the postings of a term are joined by appending them.
--
-- A document that changes gets a new number. Its old one stays in the postings until its segment is written anew, and
-- means nothing: no row of `indexed_documents` has it.
create table document_segments (
  id bigint generated always as identity primary key,
  target text,
  first_document bigint not null,
  last_document bigint not null,
  documents integer not null,
  -- The sum of the documents' lengths.
  length bigint not null
);

create table document_postings (
  term text collate "C" not null,
  segment bigint not null,
  documents integer not null,
  postings bytea not null,
  primary key (term, segment)
);

-- A part of a long value can be read only where it is not compressed.
alter table document_postings alter column postings set storage external;

-- A segment is written at once and stands together on disk. This finds it to be merged and removed.
create index document_postings_segment on document_postings using brin (segment) with (pages_per_range = 16);

-- The addresses that a load has seen, to remove the others at its end. Rows of a load that was killed are left over;
-- the next load removes those that are older than a day.
create table document_loads (
  load uuid not null,
  address uuid not null,
  started_at timestamptz not null default now(),
  primary key (load, address)
);
