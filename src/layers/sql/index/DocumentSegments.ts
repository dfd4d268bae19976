import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { type DocumentTerms, documentTerms } from "../../../domain/index/DocumentTerms.ts"
import { PostingsWriter } from "../../../domain/index/postings.ts"
import { Target } from "../../../domain/search/Target.ts"
import { rowsOf } from "../Rows.ts"

/** This many segments of a similar size are merged. */
const joinedSegments = 8

const batchSize = 1_000

const maxRows = 5_000

/** A segment is rewritten if a smaller share of its documents still exists. */
const minLive = 0.7

const readWithoutPause = 100

const Segment = Schema.Struct({
  id: Schema.Finite,
  target: Schema.NullOr(Target),
  first_document: Schema.Finite,
  last_document: Schema.Finite,
  documents: Schema.Int
})
const segmentRows = rowsOf(Segment)

export const Stored = Schema.Struct({
  id: Schema.Finite,
  url: Schema.String,
  title: Schema.String,
  headings: Schema.String,
  description: Schema.String,
  content: Schema.String,
  language: Schema.NullOr(Schema.String),
  published: Schema.NullOr(Schema.String)
})
const storedRows = rowsOf(Stored)
const idRows = rowsOf(Schema.Struct({ id: Schema.Finite }))
const liveRows = rowsOf(Schema.Struct({ id: Schema.Finite, live: Schema.Int }))

export interface Numbered {
  readonly id: number
  readonly terms: DocumentTerms
}

/** Blocks other loads, because document numbers must be greater than those in all earlier segments. */
export const lock = (sql: SqlClient.SqlClient) =>
  sql`select pg_advisory_xact_lock(hashtext('quarry document_segments'))`

export const write = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  target: Target | null,
  documents: ReadonlyArray<Numbered>
) {
  const writer = new PostingsWriter()
  for (const [index, { id, terms }] of documents.entries()) {
    if (index % readWithoutPause === 0) yield* Effect.yieldNow
    writer.add(id, terms.frequencies, terms.length)
  }
  const [segment] = yield* idRows(sql`
    insert into document_segments (target, first_document, last_document, documents, length) values (
      ${target}::text, ${documents[0]?.id}::float8, ${documents.at(-1)?.id}::float8,
      ${writer.documents}::integer, ${writer.length}::float8
    ) returning id::float8`)
  // In the order of the primary key, so that neighboring rows share pages of its index.
  const terms = [...writer.terms()].sort((a, b) => (a.term < b.term ? -1 : 1))
  for (let from = 0; from < terms.length; from += maxRows) {
    const rows = terms.slice(from, from + maxRows)
    yield* sql`
      insert into document_postings (term, segment, documents, postings)
      select term, ${segment?.id}::float8::bigint, documents, postings from unnest(
        ${rows.map(({ term }) => term)}::text[],
        ${rows.map(({ documents }) => documents)}::integer[],
        ${rows.map(({ postings }) => postings)}::bytea[]
      ) as posting (term, documents, postings)`
  }
  return segment?.id ?? 0
})

const remove = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, segments: ReadonlyArray<number>) {
  yield* sql`delete from document_postings where segment = any (${segments}::float8[]::bigint[])`
  yield* sql`delete from document_segments where id = any (${segments}::float8[]::bigint[])`
})

const join = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, segments: ReadonlyArray<number>) {
  const [row] = yield* idRows(sql`
    insert into document_segments (target, first_document, last_document, documents, length)
    select min(target), min(first_document), max(last_document), sum(documents)::integer, sum(length)::bigint
    from document_segments where id = any (${segments}::float8[]::bigint[])
    returning id::float8`)
  yield* sql`
    insert into document_postings (term, segment, documents, postings)
    select term, ${row?.id}::float8::bigint, sum(postings.documents)::integer,
      string_agg(postings, ''::bytea order by first_document)
    from document_postings as postings join document_segments on document_segments.id = segment
    where segment = any (${segments}::float8[]::bigint[])
    group by term order by term`
  yield* remove(sql, segments)
})

const all = (sql: SqlClient.SqlClient) =>
  segmentRows(sql`
    select id::float8, target, first_document::float8, last_document::float8, documents
    from document_segments order by first_document`)

const sizeOf = ({ documents }: typeof Segment.Type): number =>
  Math.floor(Math.log(documents) / Math.log(joinedSegments))

/** Enough segments of a similar size, with no larger one among them, newest first. */
const dueSegments = (segments: ReadonlyArray<typeof Segment.Type>): ReadonlyArray<number> => {
  const newest = segments.toReversed()
  const sizes = newest.map(sizeOf)
  const largest = newest.findIndex(
    (_, index) => sizes.slice(0, index + 1).filter((size) => size >= (sizes[index] ?? 0)).length >= joinedSegments
  )
  return newest.slice(0, largest + 1).map(({ id }) => id)
}

export const merge = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  for (;;) {
    const groups = Map.groupBy(yield* all(sql), ({ target }) => target)
    const due = groups
      .values()
      .map(dueSegments)
      .find((ids) => ids.length > 0)
    if (due === undefined) return
    yield* join(sql, due)
  }
})

const index = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  target: Target | null,
  first: number,
  last: number
) {
  const read = (from: number) =>
    storedRows(sql`
      select id::float8, url, title, headings, description, content, language, published from indexed_documents
      where id between ${from}::float8::bigint and ${last}::float8::bigint
        and target is not distinct from ${target}::text
      order by indexed_documents.id limit ${batchSize}`)
  const segments: Array<number> = []
  let rows = yield* read(first)
  while (rows.length > 0) {
    const documents = rows.map((texts) => ({ id: texts.id, terms: documentTerms(texts) }))
    segments.push(yield* write(sql, target, documents))
    rows = yield* read((rows.at(-1)?.id ?? 0) + 1)
  }
  if (segments.length > 1) yield* join(sql, segments)
})

export const compact = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const live = yield* liveRows(sql`
    select document_segments.id::float8, count(indexed_documents.id)::integer as live
    from document_segments left join indexed_documents
      on indexed_documents.id between first_document and last_document
      and indexed_documents.target is not distinct from document_segments.target
    group by document_segments.id`)
  const counts = new Map(live.map(({ id, live }) => [id, live]))
  for (const { documents, first_document, id, last_document, target } of yield* all(sql)) {
    if ((counts.get(id) ?? 0) >= documents * minLive) continue
    yield* remove(sql, [id])
    yield* index(sql, target, first_document, last_document)
  }
})
