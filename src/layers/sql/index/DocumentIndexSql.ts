import { Clock, Effect, Layer, Schema, Struct } from "effect"
import { SqlClient } from "effect/sql"
import { siteTerm } from "../../../domain/index/DocumentTerms.ts"
import { spanTerms } from "../../../domain/index/dates.ts"
import { type QuerySlot, type QueryTerms, readQuery } from "../../../domain/index/QueryTerms.ts"
import { bestDocuments, type Collection, rarity, type ScoredSlot } from "../../../domain/index/score.ts"
import { snippetOf, tokenWorth, type WorthOfToken } from "../../../domain/index/snippet.ts"
import { meantBy, mistakesAllowed } from "../../../domain/index/spelling.ts"
import { languageFactor, titleScore } from "../../../domain/index/titles.ts"
import { phraseText } from "../../../domain/index/words.ts"
import { isInSpan, spanOf } from "../../../domain/options/SearchOptions.ts"
import { makeSiteFilter } from "../../../domain/options/Sites.ts"
import type { SearchRequest } from "../../../domain/search/SearchRequest.ts"
import { Target } from "../../../domain/search/Target.ts"
import { DocumentIndex } from "../../../services/index/DocumentIndex.ts"
import { countOf, rowsOf } from "../Rows.ts"
import { unlimited } from "../store/StatementLimit.ts"
import { read } from "../Transaction.ts"
import { compare, load, remove } from "./DocumentLoad.ts"
import { Stored } from "./DocumentSegments.ts"
import { isLive, isLoading, whileLoading } from "./LoadLease.ts"

/** Their titles are compared with the query. More than five pages of 20, because some may have been deleted. */
const maxCandidates = 130

/** The same for a query with phrases or site paths, which rule out many documents. */
const maxUncertainCandidates = 400

const textsAtOnce = 20

/** The rarest words are read first. For very common words, the documents loaded first are scored. */
const maxPostings = 1_000_000

/** A 3-byte id difference, and a byte for frequency and length. */
const bytesOfPosting = 4

const maxMisspelt = 3
const maxCompared = 3_000

const maxSnippetSource = 20_000
const wholeContent = 1_000_000

const Found = Schema.Struct({
  term: Schema.String,
  documents: Schema.Finite,
  postings: Schema.Uint8Array,
  all_documents: Schema.Finite,
  all_length: Schema.Finite,
  is_loading: Schema.Boolean
})
const foundRows = rowsOf(Found)

const knownRows = rowsOf(Schema.Struct({ term: Schema.String, documents: Schema.Finite }))

const titleRows = rowsOf(Schema.Struct(Struct.pick(Stored.fields, ["id", "url", "title", "language", "published"])))

const Page = Schema.Struct({ ...Struct.omit(Stored.fields, ["language"]), is_loading: Schema.Boolean })
const pageRows = rowsOf(Page)

const statsRows = rowsOf(Schema.Struct({ target: Schema.NullOr(Target), documents: Schema.Int }))
const countRows = rowsOf(
  Schema.Struct({ target: Schema.NullOr(Target), language: Schema.NullOr(Schema.String), documents: Schema.Int })
)

interface Postings {
  readonly lists: ReadonlyMap<string, ReadonlyArray<typeof Found.Type>>
  readonly collection: Collection
  readonly isLoading: boolean
}

/** There is always a row, because it says whether the index is loading: one of the term "" if there are no postings. */
const postingsOf = (sql: SqlClient.SqlClient, terms: ReadonlyArray<string>, target: Target) =>
  Effect.map(
    foundRows(sql`
      with segments as (
        select id, first_document, documents, length from document_segments
        where target is null or target = ${target}::text
      ), found as (
        select term, first_document, postings.documents, postings,
          sum(postings.documents) over (partition by term) as of_term
        from document_postings as postings join segments on segments.id = segment
        where term = any (${terms}::text[])
      ), counted as (
        select *, sum(documents) over (order by of_term, term, first_document) - documents as read_before from found
      )
      select coalesce(term, '') as term, coalesce(of_term, 0)::float8 as documents,
        coalesce(case when read_before + documents <= ${maxPostings}::integer then postings
          else substring(postings from 1 for greatest(0, ${maxPostings}::integer - read_before)::integer * ${bytesOfPosting}::integer)
        end, '') as postings,
        (select coalesce(sum(documents), 0)::float8 from segments) as all_documents,
        (select coalesce(sum(length), 0)::float8 from segments) as all_length,
        is_loading
      from (select ${isLive(sql)} as is_loading) as state left join counted on true
      order by term, first_document`),
    (rows): Postings => ({
      lists: Map.groupBy(
        rows.filter(({ term }) => term !== ""),
        ({ term }) => term
      ),
      collection: { documents: rows[0]?.all_documents ?? 0, length: rows[0]?.all_length ?? 0 },
      isLoading: rows[0]?.is_loading === true
    })
  )

const termsLike = (sql: SqlClient.SqlClient, word: string) => {
  const [first = "", second = ""] = Array.from(word)
  const allowed = mistakesAllowed(word)
  const beginningWith = (letters: string) => sql`
    (select term, documents from document_postings
    where term >= ${letters}::text and term < ${`${letters}\u{10ffff}`}::text
      and length(term) between ${word.length - allowed}::integer and ${word.length + allowed}::integer
    limit ${maxCompared})`
  return knownRows(sql`
    select term, sum(documents)::float8 as documents
    from (${beginningWith(first + second)} union all ${beginningWith(second + first)}) as alike
    group by term`)
}

interface ReadSlot extends QuerySlot {
  readonly meant: ReadonlyArray<{ readonly term: string; readonly weight: number }>
}

const respell = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  slots: ReadonlyArray<QuerySlot>,
  known: Postings
) {
  let misspelt = 0
  return yield* Effect.forEach(slots, (slot) =>
    Effect.gen(function* () {
      const own = slot.terms.map((term) => ({ term, weight: 1 }))
      const isUnknown = slot.word !== undefined && slot.terms.every((term) => !known.lists.has(term))
      if (!isUnknown || misspelt === maxMisspelt || mistakesAllowed(slot.word ?? "") === 0)
        return { ...slot, meant: own }
      misspelt++
      const word = slot.terms[0] ?? ""
      return { ...slot, meant: [...own, ...meantBy(word, yield* termsLike(sql, word))] } satisfies ReadSlot
    })
  )
})

const withRespelt = (sql: SqlClient.SqlClient, slots: ReadonlyArray<ReadSlot>, known: Postings, target: Target) => {
  const added = slots.flatMap(({ meant, terms }) => meant.slice(terms.length)).map(({ term }) => term)
  const more = added.filter((term) => !known.lists.has(term))
  if (more.length === 0) return Effect.succeed(known)
  return Effect.map(
    postingsOf(sql, more, target),
    ({ collection, isLoading, lists }): Postings => ({
      collection,
      lists: new Map([...known.lists, ...lists]),
      isLoading: isLoading || known.isLoading
    })
  )
}

const scoredSlots = (
  slots: ReadonlyArray<ReadSlot>,
  { collection, lists }: Postings
): ReadonlyArray<ScoredSlot & { readonly meant: ReadSlot["meant"] }> =>
  slots.flatMap(({ meant, role, times, word }) => {
    const terms = meant.flatMap(({ term, weight }) => {
      const rows = lists.get(term)
      return rows === undefined
        ? []
        : [{ weight, documents: rows[0]?.documents ?? 0, lists: rows.map((row) => row.postings) }]
    })
    if (terms.length === 0 && word === undefined && role === "wanted") return []
    const most = terms.reduce((most, { documents }) => Math.max(most, documents), 0)
    return [{ terms, role, worth: times * rarity(collection, most), meant }]
  })

/** Without phrases and site paths, the postings alone determine which documents match. */
const isExact = ({ excludedPhrases, excludedSites, phrases, sites }: QueryTerms): boolean =>
  phrases.length + excludedPhrases.length === 0 && ![...sites, ...excludedSites].some((site) => site.includes("/"))

/** The options of a search: slots that documents must match, and a check for what terms cannot express. */
interface Filter {
  readonly slots: ReadonlyArray<QuerySlot>
  /** True if the slots alone decide. */
  readonly isExact: boolean
  readonly admits: (url: URL, published: string | null) => boolean
}

const unfiltered: Filter = { slots: [], isExact: true, admits: () => true }

const filterSlot = (role: QuerySlot["role"], terms: ReadonlyArray<string>): ReadonlyArray<QuerySlot> =>
  terms.length === 0 ? [] : [{ terms, word: undefined, times: 0, role }]

const filterOf = ({ options }: SearchRequest, nowMs: number): Filter => {
  if (options === undefined) return unfiltered
  const { excludeDomains = [], includeDomains = [] } = options
  const span = spanOf(options, nowMs)
  const isOfSites = makeSiteFilter(options)
  const hosts = excludeDomains.filter((site) => !site.includes("/"))
  return {
    slots: [
      ...filterSlot("required", includeDomains.map(siteTerm)),
      ...filterSlot("excluded", hosts.map(siteTerm)),
      ...filterSlot("required", span === undefined ? [] : ["#none", ...spanTerms(span)])
    ],
    isExact:
      ![...includeDomains, ...excludeDomains].some((site) => site.includes("/")) && options.freshness === undefined,
    admits: (url, published) => {
      if (isOfSites?.(url) === false) return false
      return span === undefined || (published !== null && isInSpan(span, published))
    }
  }
}

interface Ranked {
  readonly id: number
  readonly url: string
}

const rank = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  request: SearchRequest,
  query: QueryTerms,
  filter: Filter
) {
  const known = yield* postingsOf(
    sql,
    query.slots.flatMap(({ terms }) => terms),
    request.target
  )
  const slots = yield* respell(sql, query.slots, known)
  const postings = yield* withRespelt(sql, slots, known, request.target)
  const { collection } = postings
  const scored = scoredSlots(slots, postings)
  const limit = isExact(query) && filter.isExact ? maxCandidates : maxUncertainCandidates
  const isWanted = filter.slots.length > 0 && scored.some(({ worth }) => worth > 0)
  const best = bestDocuments(scored, collection, limit).filter(({ score }) => !isWanted || score > 0)
  const worths = new Map(
    scored.flatMap(({ meant, worth }) => (worth === 0 ? [] : meant.map(({ term }) => [term, worth] as const)))
  )
  const total = scored.reduce((sum, { worth }) => sum + worth, 0)
  const rows = yield* titleRows(sql`
    select id::float8, url, title, language, published from indexed_documents
    where id = any (${best.map(({ document }) => document)}::float8[]::bigint[])`)
  const scores = new Map(best.map(({ document, score }) => [document, score]))
  const language = request.locale.slice(0, 2)
  const titles = { worths, total, language }
  const isOfSites = makeSiteFilter({ includeDomains: query.sites, excludeDomains: query.excludedSites })
  const ranked = rows
    .filter(({ published, url }) => {
      const address = URL.parse(url)
      return address !== null && isOfSites?.(address) !== false && filter.admits(address, published)
    })
    .map(({ id, language: own, title, url }) => {
      const score = (scores.get(id) ?? 0) + titleScore(titles, title)
      return { id, url, score: score * languageFactor(own, language) }
    })
    .sort((a, b) => b.score - a.score || (a.url < b.url ? -1 : 1))
  return { ranked, worths, isLoading: postings.isLoading }
})

const pages = (sql: SqlClient.SqlClient, ranked: ReadonlyArray<Ranked>, maxContent: number) =>
  Effect.map(
    pageRows(sql`
      select id::float8, url, title, headings, description, left(content, ${maxContent}::integer) as content,
        published, ${isLive(sql)} as is_loading
      from indexed_documents where id = any (${ranked.map(({ id }) => id)}::float8[]::bigint[])`),
    (rows) => {
      const byId = new Map(rows.map((row) => [row.id, row]))
      return ranked.flatMap(({ id }) => byId.get(id) ?? [])
    }
  )

const hasPhrases =
  ({ excludedPhrases, phrases }: QueryTerms) =>
  ({ content, description, headings, title, url }: typeof Page.Type): boolean => {
    const text = phraseText([title, headings, description, content, url].join("\n"))
    return phrases.every((phrase) => text.includes(phrase)) && !excludedPhrases.some((phrase) => text.includes(phrase))
  }

const withPhrases = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  query: QueryTerms,
  ranked: ReadonlyArray<Ranked>,
  wanted: number
) {
  const isRight = hasPhrases(query)
  const found: Array<Ranked> = []
  for (let from = 0; from < ranked.length && found.length < wanted; from += textsAtOnce) {
    const texts = yield* pages(sql, ranked.slice(from, from + textsAtOnce), wholeContent)
    found.push(...texts.filter(isRight))
  }
  return found
})

const search =
  (sql: SqlClient.SqlClient): DocumentIndex["Service"]["search"] =>
  (request) =>
    Effect.gen(function* () {
      const asked = readQuery(request.query, request.locale.slice(0, 2))
      if (!asked.slots.some(({ role }) => role !== "excluded")) return { rows: [], isLoading: false }
      const filter = filterOf(request, request.options === undefined ? 0 : yield* Clock.currentTimeMillis)
      const query = { ...asked, slots: [...asked.slots, ...filter.slots] }
      const { isLoading, ranked, worths } = yield* rank(sql, request, query, filter)
      const first = (request.page - 1) * request.num
      const last = request.page * request.num
      const isWhole = query.phrases.length + query.excludedPhrases.length === 0
      const page = (isWhole ? ranked : yield* withPhrases(sql, query, ranked, last)).slice(first, last)
      if (page.length === 0) return { rows: [], isLoading }
      const worth = tokenWorth((term) => worths.get(term) ?? 0, request.locale.slice(0, 2))
      const texts = yield* pages(sql, page, maxSnippetSource)
      const rows = texts.map((row) => {
        const found = { url: row.url, title: row.title, snippet: snippetIn(row, worth) }
        return row.published === null ? found : { ...found, published: row.published }
      })
      // A load may have begun since the postings were read. It gives changed documents new ids.
      const isChanged = texts.length < page.length || texts.some((row) => row.is_loading)
      return { rows, isLoading: isLoading || isChanged }
    }).pipe(Effect.orDie)

const snippetIn = ({ content, description }: typeof Page.Type, worth: WorthOfToken): string => {
  const own = snippetOf(description, worth)
  if (content === "" || hasWorth(description, worth)) return own
  const piece = snippetOf(content, worth)
  return description === "" || hasWorth(piece, worth) ? piece : own
}

const hasWorth = (text: string, worth: WorthOfToken): boolean => text.split(/\s+/).some((token) => worth(token) > 0)

const count = (sql: SqlClient.SqlClient, urls: ReadonlyArray<string>) =>
  Effect.orDie(
    countOf(sql`
      select count(*)::int as count from indexed_documents
      where target is null and md5(url)::uuid in (select md5(url)::uuid from unnest(${urls}::text[]) as url)`)
  )

const stats = (sql: SqlClient.SqlClient): DocumentIndex["Service"]["stats"] =>
  Effect.map(
    Effect.orDie(statsRows(sql`select target, count(*)::int as documents from indexed_documents group by target`)),
    (rows) => ({
      documents: rows.reduce((sum, row) => sum + row.documents, 0),
      byTarget: Object.fromEntries(rows.flatMap((row) => (row.target === null ? [] : [[row.target, row.documents]])))
    })
  )

const counts = (sql: SqlClient.SqlClient): DocumentIndex["Service"]["counts"] =>
  read(
    countRows(sql`
      select target, language, count(*)::int as documents from indexed_documents
      group by target, language order by target nulls first, documents desc, language`),
    (rows) =>
      rows.map(({ documents, language, target }) => ({
        target: target ?? undefined,
        language: language ?? undefined,
        documents
      }))
  )

const clear = (sql: SqlClient.SqlClient): DocumentIndex["Service"]["clear"] =>
  unlimited(
    sql,
    Effect.gen(function* () {
      yield* sql`delete from document_postings`
      yield* sql`delete from document_segments`
      return yield* countOf(sql`
        with removed as (delete from indexed_documents returning 1) select count(*)::int as count from removed`)
    })
  ).pipe(Effect.orDie)

export const layer: Layer.Layer<DocumentIndex, never, SqlClient.SqlClient> = Layer.effect(
  DocumentIndex,
  Effect.map(SqlClient.SqlClient, (sql) =>
    DocumentIndex.of({
      load: load(sql),
      compare: compare(sql),
      remove: remove(sql),
      count: (urls) => count(sql, urls),
      search: search(sql),
      whileLoading: whileLoading(sql),
      isLoading: isLoading(sql),
      stats: stats(sql),
      counts: counts(sql),
      clear: clear(sql)
    })
  )
)
