-- The built-in index. Names of things are what people look for in it, and Postgres reads them as hosts, file names and
-- signs: `Array.prototype.flat` as one word, `:has()` and `C` as stop words, `C++` as `C`. So `documents_words` cuts
-- names into words and spells out the signs that tell names apart, for documents and queries alike, and titles are
-- indexed a second time unchanged (configuration `simple`: no stemming, no stop words).

-- Quotation marks and hyphens before a word stay: in a query they mean a phrase and an exclusion.
create function documents_words(input text) returns text
language sql immutable strict parallel safe
return regexp_replace(
  regexp_replace(
    regexp_replace(input, '(?<=[[:alnum:]])#', 'sharp ', 'g'),
    '\+\+', 'plusplus ', 'g'
  ),
  '[][!#$%&''()*+,./:;<=>?@\\^_`{|}~]+|(?<=[^\s"])-+(?=[^\s"])', ' ', 'g'
);

create table documents (
  id bigint generated always as identity primary key,
  target text,
  url text not null,
  title text not null,
  description text not null,
  language text,
  title_key text not null generated always as (lower(btrim(documents_words(title)))) stored,
  search tsvector not null generated always as (
    setweight(to_tsvector('english', documents_words(title)), 'A')
    || setweight(to_tsvector('english', documents_words(description)), 'D')
    || setweight(to_tsvector('simple', documents_words(title)), 'B')
  ) stored
);

-- A digest, because an address may be longer than an index entry.
create unique index documents_address on documents (md5(url), coalesce(target, ''));
create index documents_search on documents using gin (search) with (fastupdate = off);
