import { Array as Arr, Cause, Effect, Schema, Stream } from "effect"
import type { SqlClient } from "effect/sql"
import { documentTerms } from "../../../domain/index/DocumentTerms.ts"
import { readPublished } from "../../../domain/options/published.ts"
import type { Target } from "../../../domain/search/Target.ts"
import type { Document, DocumentIndex, Replacement } from "../../../services/index/DocumentIndex.ts"
import { countOf, rowsOf } from "../Rows.ts"
import { unlimited } from "../store/StatementLimit.ts"
import * as DocumentSegments from "./DocumentSegments.ts"
import { whileLoading } from "./LoadLease.ts"

const batchSize = 1_000

/** Fewer if their texts are long, because a segment is built in memory. */
const segmentDocuments = 20_000
const segmentUnits = 16_000_000

/** Growth, as a share of all documents, after which a load runs ANALYZE. */
const analyzedGrowth = 0.2

/** Documents processed before yielding to searches of this process. */
const readWithoutPause = 10

const maxTextUnits = 20_000
const maxContentUnits = 50_000

const writtenRows = rowsOf(Schema.Struct({ id: Schema.Finite, url: Schema.String }))

const storable = (text: string, maxUnits = maxTextUnits): string =>
  text.slice(0, maxUnits).toWellFormed().replaceAll("\0", " ")

/** The last document per address: one statement cannot write a row twice. */
const lastOfEach = (documents: ReadonlyArray<Row>): ReadonlyArray<Row> => [
  ...new Map(documents.map((document) => [document.url, document])).values()
]

const toRow = ({ content = "", description, headings = "", language, published = "", title, url }: Document) => {
  const texts = {
    url: storable(url),
    title: storable(title),
    headings: storable(headings),
    description: storable(description),
    content: storable(content, maxContentUnits)
  }
  const date = readPublished(published, 0) ?? ""
  const terms = documentTerms({ ...texts, language: language ?? null, published: date })
  return { ...texts, language: language ?? "", published: date, terms }
}

type Row = ReturnType<typeof toRow>
type Column = Exclude<keyof Row, "terms">

const toRows = (documents: ReadonlyArray<Document>): Effect.Effect<ReadonlyArray<Row>> =>
  Effect.map(
    Effect.forEach(Arr.chunksOf(documents, readWithoutPause), (chunk) =>
      Effect.andThen(
        Effect.yieldNow,
        Effect.sync(() => chunk.map(toRow))
      )
    ),
    (rows) => rows.flat()
  )

/** Skips unchanged documents, so a nightly load is cheap. A changed document gets a new number. */
const write = (sql: SqlClient.SqlClient, rows: ReadonlyArray<Row>, target: Target | null) => {
  const column = (name: Column) => rows.map((row) => row[name])
  return writtenRows(sql`
    insert into indexed_documents as present (target, url, title, headings, description, content, language, published)
    select ${target}::text, url, title, headings, description, content, nullif(language, ''),
      nullif(published, '')
    from unnest(
      ${column("url")}::text[],
      ${column("title")}::text[],
      ${column("headings")}::text[],
      ${column("description")}::text[],
      ${column("content")}::text[],
      ${column("language")}::text[],
      ${column("published")}::text[]
    ) as document (url, title, headings, description, content, language, published)
    on conflict ((md5(url)::uuid), coalesce(target, '')) do update
    set id = default, title = excluded.title, headings = excluded.headings, description = excluded.description,
      content = excluded.content, language = excluded.language, published = excluded.published
    where (present.title, present.headings, present.description, present.content, present.language, present.published)
      is distinct from (
        excluded.title, excluded.headings, excluded.description, excluded.content, excluded.language, excluded.published
      )
    returning id::float8, url`)
}

const remember = (sql: SqlClient.SqlClient, load: string, urls: ReadonlyArray<string>) => sql`
  insert into document_loads (load, address)
  select ${load}::uuid, md5(url)::uuid from unnest(${urls}::text[]) as url
  on conflict do nothing`

/** In one transaction, so that an aborted load leaves no documents outside the index. */
const writeSegment = (
  sql: SqlClient.SqlClient,
  rows: ReadonlyArray<Row>,
  target: Target | undefined,
  seen: Seen | undefined
) =>
  unlimited(
    sql,
    Effect.gen(function* () {
      yield* DocumentSegments.lock(sql)
      const termsOf = new Map(rows.map(({ terms, url }) => [url, terms]))
      const numbered: Array<DocumentSegments.Numbered> = []
      for (const batch of Arr.chunksOf(rows, batchSize)) {
        for (const { id, url } of yield* write(sql, batch, target ?? null)) {
          const terms = termsOf.get(url)
          if (terms !== undefined) numbered.push({ id, terms })
        }
        if (seen !== undefined) {
          yield* see(
            sql,
            seen,
            batch.map(({ url }) => url)
          )
        }
      }
      if (numbered.length === 0) return
      numbered.sort((a, b) => a.id - b.id)
      yield* DocumentSegments.write(sql, target ?? null, numbered)
      yield* DocumentSegments.merge(sql)
    })
  )

const unitsOf = ({ content, description, headings, title }: Row): number =>
  content.length + description.length + headings.length + title.length

const collectSegments = (writeRows: (rows: ReadonlyArray<Row>) => Effect.Effect<void>) => {
  let rows: Array<Row> = []
  let units = 0
  const flush = Effect.suspend(() => {
    const segment = lastOfEach(rows)
    rows = []
    units = 0
    return segment.length === 0 ? Effect.void : writeRows(segment)
  })
  const add = (more: ReadonlyArray<Row>) =>
    Effect.suspend(() => {
      rows.push(...more)
      units += more.reduce((sum, row) => sum + unitsOf(row), 0)
      return rows.length >= segmentDocuments || units >= segmentUnits ? flush : Effect.void
    })
  return { add, flush }
}

/** As written. `others` extracts the same part in SQL. */
const siteOf = (url: string): string => /^[^/]+\/\/[^/?#]+/.exec(url)?.[0] ?? url

interface Seen {
  readonly load: string
  readonly target: Target | undefined
  readonly under: string | undefined
  readonly sites: Set<string>
}

const see = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, { load, sites }: Seen, urls: ReadonlyArray<string>) {
  for (const url of urls) sites.add(siteOf(url))
  yield* remember(sql, load, urls)
})

const others = (sql: SqlClient.SqlClient, { load, sites, target, under }: Seen) => {
  const within =
    under === undefined
      ? sql`substring(url from '^[^/]+//[^/?#]+') = any (${[...sites]}::text[])`
      : sql`starts_with(url || '/', ${under}::text)`
  return sql`target is not distinct from ${target ?? null}::text and ${within}
    and not exists (select from document_loads where load = ${load}::uuid and address = md5(url)::uuid)`
}

const removeOthers = (sql: SqlClient.SqlClient, seen: Seen) =>
  unlimited(
    sql,
    countOf(sql`
      with removed as (delete from indexed_documents where ${others(sql, seen)} returning 1)
      select count(*)::int as count from removed`)
  )

const comparisonRows = rowsOf(Schema.Struct({ documents: Schema.Int, removed: Schema.Int }))

const countOthers = (sql: SqlClient.SqlClient, seen: Seen) =>
  Effect.map(
    unlimited(
      sql,
      comparisonRows(sql`
      select count(*)::int as documents, (count(*) filter (where ${others(sql, seen)}))::int as removed
      from indexed_documents`)
    ),
    ([row]) => row ?? { documents: 0, removed: 0 }
  )

/** The addresses that a load has seen are stored under its id until it ends. */
const loadId = (sql: SqlClient.SqlClient) =>
  Effect.acquireRelease(
    Effect.gen(function* () {
      yield* sql`delete from document_loads where started_at < now() - interval '1 day'`
      const [row] = yield* sql<{ readonly id: string }>`select gen_random_uuid()::text as id`
      return row?.id ?? ""
    }),
    (id) => Effect.ignore(sql`delete from document_loads where load = ${id}::uuid`)
  )

const startSeen = (sql: SqlClient.SqlClient, target: Target | undefined, { under }: Replacement) =>
  Effect.map(loadId(sql), (load): Seen => ({ load, target, under, sites: new Set() }))

const finish = (sql: SqlClient.SqlClient, written: number) =>
  unlimited(
    sql,
    Effect.gen(function* () {
      yield* DocumentSegments.lock(sql)
      yield* DocumentSegments.compact(sql)
      // The embedded database has no autovacuum.
      const documents = yield* countOf(sql`select coalesce(sum(documents), 0)::int as count from document_segments`)
      if (written >= documents * analyzedGrowth) yield* sql`analyze document_postings`
    })
  )

export const load =
  (sql: SqlClient.SqlClient): DocumentIndex["Service"]["load"] =>
  (documents, { replace, target }) =>
    Effect.scoped(
      Effect.gen(function* () {
        const seen = replace === false ? undefined : yield* Effect.orDie(startSeen(sql, target, replace))
        let written = 0
        const segments = collectSegments((rows) => {
          written += rows.length
          return Effect.orDie(writeSegment(sql, rows, target, seen))
        })
        yield* documents.pipe(
          Stream.grouped(batchSize),
          Stream.mapEffect(toRows),
          // Prepares the terms of the next documents while the database writes.
          Stream.buffer({ capacity: segmentDocuments / batchSize }),
          Stream.runForEach(segments.add),
          Effect.onError((cause) => (Cause.hasInterrupts(cause) ? Effect.void : segments.flush))
        )
        yield* segments.flush
        const removed = seen === undefined ? 0 : yield* Effect.orDie(removeOthers(sql, seen))
        yield* Effect.orDie(finish(sql, written))
        return { written, removed }
      })
    ).pipe(whileLoading(sql))

export const compare =
  (sql: SqlClient.SqlClient): DocumentIndex["Service"]["compare"] =>
  (documents, { replace, target }) =>
    Effect.scoped(
      Effect.gen(function* () {
        const seen = yield* Effect.orDie(startSeen(sql, target, replace))
        yield* documents.pipe(
          Stream.map(({ url }) => storable(url)),
          Stream.grouped(batchSize),
          Stream.runForEach((urls) => Effect.orDie(see(sql, seen, urls)))
        )
        return yield* Effect.orDie(countOthers(sql, seen))
      })
    )

export const remove =
  (sql: SqlClient.SqlClient): DocumentIndex["Service"]["remove"] =>
  (urls, target) =>
    Effect.gen(function* () {
      let removed = 0
      for (const batch of Arr.chunksOf(urls, batchSize)) {
        removed += yield* unlimited(
          sql,
          countOf(sql`
          with removed as (
            delete from indexed_documents
            where target is not distinct from ${target ?? null}::text and url = any (${batch.map((url) => storable(url))}::text[])
            returning 1
          )
          select count(*)::int as count from removed`)
        )
      }
      if (removed > 0) yield* finish(sql, 0)
      return removed
    }).pipe(Effect.orDie)
