import { Array as Arr, Effect, Ref, Schema, Semaphore, Stream } from "effect"
import type { SqlClient } from "effect/sql"
import { documentTerms, sampleOf } from "../../domain/relevance/DocumentTerms.ts"
import { Target } from "../../domain/Target.ts"
import type { Document, DocumentIndex } from "../../services/DocumentIndex.ts"
import type { DocumentFigures } from "./DocumentFigures.ts"
import { rowsOf } from "./Rows.ts"
import { unlimited } from "./StatementLimit.ts"

/** Documents that are read together, and the writers that write them, each those of its own addresses. */
const batchSize = 1_000
const writers = 2

/** Batches that are written at the same time, so that no writer waits for another one's part of a batch. */
const batchesInFlight = 2

/** Documents that are read without a pause. The answers of the database wait meanwhile. */
const readWithoutPause = 10

/** Texts are cut to this many UTF-16 units: Postgres indexes at most 1 MB of words in a document. */
const maxTextUnits = 20_000
const maxContentUnits = 50_000

/** Figures are made anew after so many documents, and then each time that four times as many are written. */
const firstFigures = 10_000
const figuresGrowth = 4

const countRows = rowsOf(Schema.Struct({ count: Schema.Int }))

/** Text that Postgres can carry, whatever the loaded file held. */
const storable = (text: string, maxUnits = maxTextUnits): string =>
  text.slice(0, maxUnits).toWellFormed().replaceAll("\0", " ")

/** The last of the documents with the same address: one statement cannot write a row twice. */
const lastOfEach = (documents: ReadonlyArray<Document>): ReadonlyArray<Document> => [
  ...new Map(documents.map((document) => [document.url, document])).values()
]

const toRow = ({ content = "", description, language = "", title, url }: Document) => {
  const texts = {
    url: storable(url),
    title: storable(title),
    description: storable(description),
    content: storable(content, maxContentUnits)
  }
  return { ...texts, language, terms: documentTerms(texts) }
}

type Row = ReturnType<typeof toRow>

/** The rows of a batch. What the process does besides, such as sending the batch before to the database, goes on. */
const toRows = (batch: ReadonlyArray<Document>): Effect.Effect<ReadonlyArray<Row>> =>
  Effect.map(
    Effect.forEach(Arr.chunksOf(lastOfEach(batch), readWithoutPause), (documents) =>
      Effect.andThen(
        Effect.yieldNow,
        Effect.sync(() => documents.map(toRow))
      )
    ),
    (rows) => rows.flat()
  )

/** A document that is as it was is not written again: a nightly load of an unchanged site is cheap. */
const write = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  rows: ReadonlyArray<Row>,
  target: Target | undefined
) {
  const column = (name: keyof Row) => rows.map((row) => row[name])
  yield* sql`
    insert into indexed_documents as present (target, url, title, description, content, language, terms)
    select ${target ?? null}::text, url, title, description, content, nullif(language, ''), terms from unnest(
      ${column("url")}::text[],
      ${column("title")}::text[],
      ${column("description")}::text[],
      ${column("content")}::text[],
      ${column("language")}::text[],
      ${column("terms")}::text[]
    ) as document (url, title, description, content, language, terms)
    on conflict ((md5(url)::uuid), coalesce(target, '')) do update
    set title = excluded.title, description = excluded.description, content = excluded.content,
      language = excluded.language, terms = excluded.terms
    where (present.title, present.description, present.content, present.language, present.terms)
      is distinct from (excluded.title, excluded.description, excluded.content, excluded.language, excluded.terms)`
})

const remember = (sql: SqlClient.SqlClient, load: string, rows: ReadonlyArray<Row>) => sql`
  insert into document_loads (load, address)
  select ${load}::uuid, md5(url)::uuid from unnest(${rows.map(({ url }) => url)}::text[]) as url
  on conflict do nothing`

/** The rows of each writer. */
const partsOf = (rows: ReadonlyArray<Row>): ReadonlyArray<ReadonlyArray<Row>> => {
  const parts: ReadonlyArray<Array<Row>> = Array.from({ length: writers }, () => [])
  for (const row of rows) parts[sampleOf(row.url) % writers]?.push(row)
  return parts
}

/**
 * Writes the parts of a batch, each in a transaction of its own. An address has always the same writer, which writes one
 * part after the other: so the last document of an address stays, and no two transactions wait for each other. The last
 * statement of a load waits for the disk, and all that were written before are on it then. A write has no time limit: now
 * and then it empties the index's list of waiting documents, which takes long on a slow disk.
 */
const makeWriters = Effect.map(
  Effect.all(Array.from({ length: writers }, () => Semaphore.make(1))),
  (turns) =>
    (sql: SqlClient.SqlClient, rows: ReadonlyArray<Row>, target: Target | undefined, load: string | undefined) => {
      const writePart = (part: ReadonlyArray<Row>) =>
        Effect.gen(function* () {
          yield* sql`set local synchronous_commit = off`
          yield* write(sql, part, target)
          if (load !== undefined) yield* remember(sql, load, part)
        })
      return Effect.forEach(
        Arr.zip(turns, partsOf(rows)),
        ([turn, part]) => turn.withPermits(1)(unlimited(sql, writePart(part))),
        { concurrency: writers, discard: true }
      )
    }
)

const removeOthers = (sql: SqlClient.SqlClient, load: string, target: Target | undefined) =>
  Effect.map(
    unlimited(
      sql,
      countRows(sql`
      with removed as (
        delete from indexed_documents
        where target is not distinct from ${target ?? null}::text
          and not exists (select from document_loads where load = ${load}::uuid and address = md5(url)::uuid)
        returning 1
      )
      select count(*)::int as count from removed`)
    ),
    ([row]) => row?.count ?? 0
  )

/** The name of a load among those whose addresses are remembered, which are forgotten at its end. */
const loadId = (sql: SqlClient.SqlClient) =>
  Effect.acquireRelease(
    Effect.gen(function* () {
      yield* sql`delete from document_loads where started_at < now() - interval '1 day'`
      const [row] = yield* sql<{ readonly id: string }>`select gen_random_uuid()::text as id`
      return row?.id ?? ""
    }),
    (id) => Effect.ignore(sql`delete from document_loads where load = ${id}::uuid`)
  )

const Unread = Schema.Struct({
  id: Schema.String,
  target: Schema.NullOr(Target),
  url: Schema.String,
  title: Schema.String,
  description: Schema.String,
  language: Schema.NullOr(Schema.String)
})
const unreadRows = rowsOf(Unread)

const unread = (sql: SqlClient.SqlClient, after: string) =>
  unreadRows(sql`
    select id::text, target, url, title, description, language from documents
    where id > ${after}::text::bigint order by documents.id limit ${batchSize}`)

/** Copies the documents of versions that had no terms. */
export const copyUnread = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  let rows = yield* unread(sql, "0")
  while (rows.length > 0) {
    for (const [target, batch] of Map.groupBy(rows, (row) => row.target)) {
      const documents = batch.map(({ description, language, title, url }) => ({
        url,
        title,
        description,
        ...(language === null ? {} : { language })
      }))
      yield* write(sql, yield* toRows(documents), target ?? undefined)
    }
    rows = yield* unread(sql, rows.at(-1)?.id ?? "")
  }
})

export const load =
  ({
    figures,
    sql
  }: {
    readonly sql: SqlClient.SqlClient
    readonly figures: DocumentFigures
  }): DocumentIndex["Service"]["load"] =>
  (documents, { replace, target }) =>
    Effect.scoped(
      Effect.gen(function* () {
        const id = replace ? yield* Effect.orDie(loadId(sql)) : undefined
        const writeRows = yield* makeWriters
        const state = yield* Ref.make({ written: 0, nextFigures: firstFigures })
        const writeBatch = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>) {
          yield* writeRows(sql, rows, target, id)
          const isDue = yield* Ref.modify(state, ({ nextFigures, written: before }) => {
            const written = before + rows.length
            const isDue = written >= nextFigures
            return [isDue, { written, nextFigures: isDue ? nextFigures * figuresGrowth : nextFigures }]
          })
          if (isDue) yield* figures.refresh
        }, Effect.orDie)
        yield* documents.pipe(
          Stream.grouped(batchSize),
          Stream.mapEffect(toRows),
          // The terms of the next documents are made while the database writes.
          Stream.buffer({ capacity: 1 }),
          Stream.mapEffect(writeBatch, { concurrency: batchesInFlight }),
          Stream.runDrain
        )
        const { written } = yield* Ref.get(state)
        const removed = id === undefined ? 0 : yield* Effect.orDie(removeOthers(sql, id, target))
        yield* Effect.orDie(figures.refresh)
        return { written, removed }
      })
    )
