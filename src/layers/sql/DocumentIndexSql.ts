import { Effect, Layer, Schema, Stream } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Target } from "../../domain/Target.ts"
import { type Document, DocumentIndex } from "../../services/DocumentIndex.ts"

/** Documents that one statement writes. */
const batchSize = 500

/** Words of a query that are looked for; the others are left out. */
const maxWords = 12

/** Tokens of the parser: these words and the separators between them. */
const maxTokens = 2 * maxWords

/** A shorter beginning of a word matches too many others. */
const minPrefixLength = 3

/** Documents that are ranked, of those that a query matches. */
const maxCandidates = 5_000

/** Titles and descriptions are cut to this many UTF-16 units: Postgres indexes at most 1 MB of words in a document. */
const maxTextUnits = 20_000

/** Text that Postgres can carry, whatever the loaded file held. */
const storable = (text: string): string => text.slice(0, maxTextUnits).toWellFormed().replaceAll("\0", " ")

/** The last of the documents with the same address: one statement cannot write a row twice. */
const lastOfEach = (documents: ReadonlyArray<Document>): ReadonlyArray<Document> => [
  ...new Map(documents.map((document) => [document.url, document])).values()
]

const Row = Schema.Struct({ url: Schema.String, title: Schema.String, snippet: Schema.String })

/** A search in the terms of the statement. */
const Search = Schema.Struct({
  query: Schema.String,
  target: Schema.String,
  language: Schema.String,
  limit: Schema.Int,
  offset: Schema.Int
})

const Stats = Schema.Struct({ target: Schema.NullOr(Target), documents: Schema.Int })

const write = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  batch: ReadonlyArray<Document>,
  target: Target | undefined
) {
  const documents = lastOfEach(batch)
  const column = (read: (document: Document) => string) => documents.map((document) => storable(read(document)))
  yield* sql`
    insert into documents (target, url, title, description, language)
    select ${target ?? null}::text, url, title, description, nullif(language, '') from unnest(
      ${column(({ url }) => url)}::text[],
      ${column(({ title }) => title)}::text[],
      ${column(({ description }) => description)}::text[],
      ${column(({ language }) => language ?? "")}::text[]
    ) as document (url, title, description, language)
    on conflict (md5(url), coalesce(target, '')) do update
    set title = excluded.title, description = excluded.description, language = excluded.language`
  return documents.length
}, Effect.orDie)

/** Removes the documents of the target whose addresses are not among these. */
const removeOthers = (sql: SqlClient.SqlClient, addresses: ReadonlySet<string>, target: Target | undefined) =>
  Effect.map(
    Effect.orDie(sql<{ readonly count: number }>`
      with removed as (
        delete from documents
        where target is not distinct from ${target ?? null}::text and url <> all(${[...addresses]}::text[])
        returning 1
      )
      select count(*)::int as count from removed`),
    ([row]) => row?.count ?? 0
  )

const load =
  (sql: SqlClient.SqlClient): DocumentIndex["Service"]["load"] =>
  (documents, { replace, target }) =>
    Effect.gen(function* () {
      const addresses = new Set<string>()
      const written = yield* documents.pipe(
        Stream.tap(({ url }) => Effect.sync(() => replace && addresses.add(storable(url)))),
        Stream.grouped(batchSize),
        Stream.mapEffect((batch) => write(sql, batch, target)),
        Stream.runFold(
          () => 0,
          (sum, written) => sum + written
        )
      )
      const removed = replace ? yield* removeOthers(sql, addresses, target) : 0
      // No autovacuum runs on the embedded database, and without statistics the planner reads the whole table.
      yield* Effect.orDie(sql`analyze documents`)
      return { written, removed }
    })

/**
 * Searches for all words of the query, as a person types them in a search box: quoted phrases, `-word`, `or`. Where no
 * document has all of them: any of the words, or a word that begins with the last one, still without the excluded ones.
 * A query of only stop words is looked for in titles. One that only excludes finds nothing.
 *
 * The order is: a title that is the query itself, then words in the title before words in the description, in the
 * language of the search before none and others. Ties are ordered by the address, so that pages do not overlap.
 *
 * The embedded database stops the process while it runs this statement, and no timeout ends it. So the statement bounds
 * its own cost: few words, one prefix, a limit on the documents that are ranked. A word that stands three times or more
 * in a row counts once, because a phrase of it is looked for in each document that has the word. `chosen` is
 * materialized because the planner would otherwise parse the query and search its words once for each document.
 */
const find = (sql: SqlClient.SqlClient, { language, limit, offset, query, target }: typeof Search.Type) => sql`
    with input as (
      select words, regexp_replace(words, excluded, ' ', 'g') as positive, (
        select websearch_to_tsquery('english', string_agg(part[1], ' '))
        from regexp_matches(words, excluded, 'g') as part
      ) as exclusions
      from (
        select regexp_replace(string_agg(token, ''), '(\\m\\w+)([\\s"]+\\1\\M){2,}', '\\1', 'gi') as words, '(?:^|\\s)(-(?:"[^"]*(?:"|$)|\\S+))' as excluded
        from (select token from ts_parse('default', documents_words(${query}::text)) limit ${maxTokens}) as token
      ) as text
    ), parsed as (
      select all_words, (
        select string_agg(
          '''' || lexeme || '''' || case when is_last and char_length(lexeme) >= ${minPrefixLength} then ':*' else '' end,
          ' | '
        )::tsquery
        from (
          select lexeme, positions[array_upper(positions, 1)] = max(positions[array_upper(positions, 1)]) over () as is_last
          from unnest(case when positive_english = '' then to_tsvector('simple', positive) else positive_english end)
        ) as lexeme
      ) && coalesce(exclusions, '') as any_word
      from (
        select *,
          to_tsvector('english', positive) as positive_english,
          case when numnode(english) > 0 then english else websearch_to_tsquery('simple', words) end as all_words
        from (select *, websearch_to_tsquery('english', words) as english from input) as input
      ) as input
    ), chosen as materialized (
      select lower(btrim(documents_words(${query}::text))) as key, case
        when querytree(all_words) not in ('', 'T') and exists (
          select from documents
          where search @@ all_words and (target is null or target = ${target}::text)
        ) then all_words
        else any_word
      end as query
      from parsed
    ), candidates as (
      select documents.*, key, query
      from documents, chosen
      where search @@ query and (target is null or target = ${target}::text)
      limit ${maxCandidates}
    )
    select url, title, description as snippet
    from candidates
    order by
      (title_key = key) desc,
      ts_rank_cd('{0.1, 0.2, 0.5, 1.0}', search, query)
        * case when language = ${language}::text then 1.0 when language is null then 0.9 else 0.5 end desc,
      char_length(title),
      url
    limit ${limit}::int offset ${offset}::int`

const search = (sql: SqlClient.SqlClient): DocumentIndex["Service"]["search"] => {
  const findRows = SqlSchema.findAll({ Request: Search, Result: Row, execute: (search) => find(sql, search) })
  return ({ locale, num, page, query, target }) =>
    Effect.orDie(findRows({ query, target, language: locale.slice(0, 2), limit: num, offset: (page - 1) * num }))
}

const stats = (sql: SqlClient.SqlClient): DocumentIndex["Service"]["stats"] => {
  const countByTarget = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Stats,
    execute: () => sql`select target, count(*)::int as documents from documents group by target`
  })
  return Effect.map(Effect.orDie(countByTarget()), (rows) => ({
    documents: rows.reduce((sum, row) => sum + row.documents, 0),
    byTarget: Object.fromEntries(rows.flatMap((row) => (row.target === null ? [] : [[row.target, row.documents]])))
  }))
}

const clear = (sql: SqlClient.SqlClient): DocumentIndex["Service"]["clear"] =>
  sql<{
    readonly count: number
  }>`with removed as (delete from documents returning 1) select count(*)::int as count from removed`.pipe(
    Effect.map(([row]) => row?.count ?? 0),
    Effect.orDie
  )

/** The index in Postgres full-text search; `schema/documents.sql` has the tables and how words are cut. */
export const layer: Layer.Layer<DocumentIndex, never, SqlClient.SqlClient> = Layer.effect(
  DocumentIndex,
  Effect.map(SqlClient.SqlClient, (sql) =>
    DocumentIndex.of({ load: load(sql), search: search(sql), stats: stats(sql), clear: clear(sql) })
  )
)
