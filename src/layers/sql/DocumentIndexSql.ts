import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type Lookup, lookupsOf } from "../../domain/relevance/candidates.ts"
import { type QueryTerms, readQuery } from "../../domain/relevance/QueryTerms.ts"
import { type Candidate, rankCandidates, type Scored } from "../../domain/relevance/score.ts"
import { snippetOf, tokenWorth, type WorthOfToken } from "../../domain/relevance/snippet.ts"
import { spreadHosts } from "../../domain/relevance/spread.ts"
import { rarity, type WordFigures } from "../../domain/relevance/WordFigures.ts"
import { widen } from "../../domain/relevance/widen.ts"
import type { SearchRequest } from "../../domain/SearchRequest.ts"
import { Target } from "../../domain/Target.ts"
import { DocumentIndex } from "../../services/DocumentIndex.ts"
import * as DocumentFigures from "./DocumentFigures.ts"
import { load } from "./DocumentLoad.ts"
import { rowsOf } from "./Rows.ts"
import { unlimited } from "./StatementLimit.ts"

/** Text of a document in which the snippet is looked for. */
const maxSnippetSource = 20_000

const Found = Schema.Struct({
  lookup: Schema.Int,
  id: Schema.String,
  url: Schema.String,
  language: Schema.NullOr(Schema.String),
  terms: Schema.String
})
const foundRows = rowsOf(Found)

const Page = Schema.Struct({
  id: Schema.String,
  url: Schema.String,
  title: Schema.String,
  description: Schema.String,
  content: Schema.String
})
const pageRows = rowsOf(Page)

const statsRows = rowsOf(Schema.Struct({ target: Schema.NullOr(Target), documents: Schema.Int }))
const countRows = rowsOf(Schema.Struct({ count: Schema.Int }))

interface Deps {
  readonly sql: SqlClient.SqlClient
  readonly figures: DocumentFigures.DocumentFigures
}

/** The documents that the lookups find, each once. */
const candidatesOf = (sql: SqlClient.SqlClient, query: QueryTerms, lookups: ReadonlyArray<Lookup>, target: Target) =>
  Effect.map(
    foundRows(sql`
      select * from documents_find(
        ${lookups.map((lookup) => lookup.query)}::text[],
        ${lookups.map((lookup) => lookup.limit)}::integer[],
        ${lookups.map((lookup) => lookup.enough)}::integer[],
        ${target}::text,
        ${query.phrases}::text[],
        ${query.excludedPhrases}::text[]
      )`),
    (rows) => {
      const candidates = new Map<string, Candidate>()
      for (const { id, language, lookup, terms, url } of rows) {
        const complete = lookups[lookup - 1]?.complete === true || candidates.get(id)?.complete === true
        candidates.set(id, { id, url, language, terms, complete })
      }
      return candidates
    }
  )

/** True for a word that is in the index. */
const isHeld = (known: WordFigures, candidates: ReadonlyMap<string, Candidate>) => (term: string) =>
  known.isListed(term) || candidates.values().some(({ terms }) => terms.includes(` ${term} `))

/**
 * All documents that answer, best first. Where none has all words, words that no document has are looked for in other
 * spellings too, and the last one as the beginning of a word.
 */
const rankAll = Effect.fnUntraced(function* ({ figures, sql }: Deps, request: SearchRequest) {
  const known = yield* figures.current
  const language = request.locale.slice(0, 2)
  const query = readQuery(request.query)
  const lookups = lookupsOf(query, known)
  if (lookups.length === 0) return { query, known, ranked: [] }
  const candidates = yield* candidatesOf(sql, query, lookups, request.target)
  const isComplete = candidates.values().some(({ complete }) => complete)
  const wider = isComplete ? undefined : widen(query, known, isHeld(known, candidates))
  if (wider === undefined) return { query, known, ranked: rankCandidates(query, known, candidates.values(), language) }
  const more = yield* candidatesOf(sql, wider, lookupsOf(wider, known), request.target)
  const all = new Map([...candidates, ...more])
  return { query: wider, known, ranked: rankCandidates(wider, known, all.values(), language) }
})

/** Documents that have as much of the query as the best one are spread over their sites; the others follow. */
const arrange = (ranked: ReadonlyArray<Scored>): ReadonlyArray<Scored> => {
  const most = ranked.reduce((best, { coverage }) => Math.max(best, coverage), 0)
  const full = ranked.filter(({ coverage }) => coverage >= most)
  return [...spreadHosts(full, ({ candidate }) => candidate.url), ...ranked.filter(({ coverage }) => coverage < most)]
}

/** The worth of each token for a snippet. */
const worthIn = (query: QueryTerms, known: WordFigures): WorthOfToken => {
  const worth = new Map(
    query.slots.flatMap(({ alternatives, required }) =>
      alternatives.map(({ term }) => [term, rarity(known, known.count(term)) * (required ? 1 : 0.1)] as const)
    )
  )
  return tokenWorth((term) => worth.get(term) ?? 0)
}

const search =
  (deps: Deps): DocumentIndex["Service"]["search"] =>
  (request) =>
    Effect.gen(function* () {
      const { known, query, ranked } = yield* rankAll(deps, request)
      const page = arrange(ranked).slice((request.page - 1) * request.num, request.page * request.num)
      if (page.length === 0) return []
      const needContent = page.flatMap(({ candidate, inDescription }) => (inDescription ? [] : [candidate.id]))
      const rows = yield* pageRows(deps.sql`
        select id::text, url, title, description,
          case when id = any (${needContent}::text[]::bigint[]) then left(content, ${maxSnippetSource}::integer) else '' end as content
        from indexed_documents
        where id = any (${page.map(({ candidate }) => candidate.id)}::text[]::bigint[])`)
      const byId = new Map(rows.map((row) => [row.id, row]))
      const worth = worthIn(query, known)
      return page.flatMap(({ candidate }) => {
        const row = byId.get(candidate.id)
        if (row === undefined) return []
        return [{ url: row.url, title: row.title, snippet: snippetIn(row, worth) }]
      })
    }).pipe(Effect.orDie)

/** A piece of the content, for a document that has none of the words in its description, if the content has one. */
const snippetIn = ({ content, description }: typeof Page.Type, worth: WorthOfToken): string => {
  if (content === "") return snippetOf(description, worth)
  const piece = snippetOf(content, worth)
  return description === "" || hasWorth(piece, worth) ? piece : snippetOf(description, worth)
}

const hasWorth = (text: string, worth: WorthOfToken): boolean => text.split(/\s+/).some((token) => worth(token) > 0)

const stats = (sql: SqlClient.SqlClient): DocumentIndex["Service"]["stats"] =>
  Effect.map(
    Effect.orDie(statsRows(sql`select target, count(*)::int as documents from indexed_documents group by target`)),
    (rows) => ({
      documents: rows.reduce((sum, row) => sum + row.documents, 0),
      byTarget: Object.fromEntries(rows.flatMap((row) => (row.target === null ? [] : [[row.target, row.documents]])))
    })
  )

const clear = ({ figures, sql }: Deps): DocumentIndex["Service"]["clear"] =>
  unlimited(
    sql,
    countRows(
      sql`with removed as (delete from indexed_documents returning 1) select count(*)::int as count from removed`
    )
  ).pipe(
    Effect.map(([row]) => row?.count ?? 0),
    Effect.tap(() => figures.refresh),
    Effect.orDie
  )

/** The index in SQL: candidates come from the database's index of terms, and `domain/relevance` ranks them. */
export const layer: Layer.Layer<DocumentIndex, never, SqlClient.SqlClient> = Layer.effect(
  DocumentIndex,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const figures = yield* DocumentFigures.make(sql)
    const deps = { sql, figures }
    return DocumentIndex.of({ load: load(deps), search: search(deps), stats: stats(sql), clear: clear(deps) })
  })
)
