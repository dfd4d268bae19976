-- Documents of the built-in index.
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

-- Indexes a digest, because an address may be too long for an index entry.
create unique index indexed_documents_address on indexed_documents ((md5(url)::uuid), coalesce(target, ''));

-- The inverted index: for each term, the documents that contain it, as bytes that src/domain/index/postings.ts reads
-- and writes. A load writes a segment for every few thousand documents, and segments are merged when there are many. A
-- segment's document numbers are greater than those of all earlier segments, so merging appends postings.
--
-- A changed document gets a new number. Its old number stays in the postings until the segment is rewritten, and is
-- ignored because no row of `indexed_documents` has it.
create table document_segments (
  id bigint generated always as identity primary key,
  target text,
  first_document bigint not null,
  last_document bigint not null,
  documents integer not null,
  -- Sum of the documents' lengths.
  length bigint not null
);

create table document_postings (
  term text collate "C" not null,
  segment bigint not null,
  documents integer not null,
  postings bytea not null,
  primary key (term, segment)
);

-- Compressed values cannot be read in part.
alter table document_postings alter column postings set storage external;

-- Finds the rows of a segment to merge or delete. They are adjacent on disk because a segment is written at once.
create index document_postings_segment on document_postings using brin (segment) with (pages_per_range = 16);

-- Addresses that a load has seen, so that it can delete the others when it ends. The next load deletes leftovers of
-- aborted loads that are older than a day.
--
-- Also the leases of running loads: rows whose `load` is the nil UUID and whose `started_at` is renewed while the load
-- `address` runs. While there is one that has not expired, no answer from the index is cached.
create table document_loads (
  load uuid not null,
  address uuid not null,
  started_at timestamptz not null default now(),
  primary key (load, address)
);
