import { DatabaseSync } from "node:sqlite"
import { Effect, Layer, Stream } from "effect"
import MiniSearch from "minisearch"
import * as DocumentIndexSql from "../../src/layers/sql/index/DocumentIndexSql.ts"
import * as Migrations from "../../src/layers/sql/Migrations.ts"
import * as Pglite from "../../src/layers/sql/store/Pglite.ts"
import { type Document, DocumentIndex } from "../../src/services/index/DocumentIndex.ts"
import { searchRequest } from "../../test/support/api/requests.ts"
import * as Postgres from "../../test/support/stores/Postgres.ts"
import { depth } from "./Score.ts"

/** The addresses of the first ten results, best first. */
export type Find = (query: string, locale?: string) => Effect.Effect<ReadonlyArray<string>>

const builtIn = DocumentIndexSql.layer.pipe(Layer.provide(Migrations.layer))

/** An empty built-in index in its own database. */
export const embedded = builtIn.pipe(Layer.provide(Pglite.layer({ dataDir: undefined })), Layer.orDie)
export const onPostgres = builtIn.pipe(Layer.provide(Postgres.layer), Layer.orDie)

/** Loads the documents into the built-in index. */
export const quarry = (documents: ReadonlyArray<Document>): Effect.Effect<Find, never, DocumentIndex> =>
  Effect.gen(function* () {
    const index = yield* DocumentIndex
    yield* index.load(Stream.fromIterable(documents), { target: undefined, replace: false })
    return (query, locale = "en-us") =>
      Effect.map(index.search(searchRequest({ query, locale, num: depth })), ({ rows }) => rows.map(({ url }) => url))
  })

/** The parts of a query, to translate its operators into each library's syntax. */
interface Parts {
  readonly wanted: ReadonlyArray<string>
  readonly excluded: ReadonlyArray<string>
}

const parts = (query: string): Parts => {
  const wanted: Array<string> = []
  const excluded: Array<string> = []
  for (const [, minus = "", phrase, word = ""] of query.matchAll(/(^-|(?<=\s)-)?(?:"([^"]*)"|(\S+))/g)) {
    const text = phrase ?? word
    if (minus !== "") excluded.push(text)
    else if (text.toLowerCase() !== "or") wanted.push(phrase === undefined ? text : `"${text}"`)
  }
  return { wanted, excluded }
}

/** The words of a text, or a phrase as consecutive words. */
const ftsTerm = (term: string): string => `"${term.replace(/^"|"$/g, "").replaceAll('"', " ")}"`

/** SQLite FTS5: any of the words, by BM25, with Porter's stemmer; a word in the title counts four times. */
export const fts5 = (documents: ReadonlyArray<Document>): Find => {
  const database = new DatabaseSync(":memory:")
  database.exec(
    "create virtual table documents using fts5(url, title, description, content, tokenize = 'porter unicode61')"
  )
  const insert = database.prepare("insert into documents values (?, ?, ?, ?)")
  database.exec("begin")
  for (const { content = "", description, title, url } of documents) insert.run(url, title, description, content)
  database.exec("commit")
  const select = database.prepare(
    `select url from documents where documents match ? order by bm25(documents, 2.0, 4.0, 1.0, 1.0), rowid limit ${depth}`
  )
  return (query) =>
    Effect.sync(() => {
      const { wanted, excluded } = parts(query)
      const match = [wanted.map(ftsTerm).join(" OR "), ...excluded.map(ftsTerm)].join(" NOT ")
      if (wanted.length === 0) return []
      return select
        .all(excluded.length === 0 ? match : match.replace(/^(.*?) NOT /, "($1) NOT "))
        .map(({ url }) => `${url}`)
    })
}

/** MiniSearch with the options of its manual: prefixes, fuzzy matching and a boosted title. It has no phrases. */
export const miniSearch = (documents: ReadonlyArray<Document>): Find => {
  const index = new MiniSearch<Document>({
    idField: "url",
    fields: ["url", "title", "description", "content"],
    searchOptions: { boost: { title: 4, url: 2 }, prefix: true, fuzzy: 0.2 }
  })
  index.addAll(documents)
  return (query) =>
    Effect.sync(() => {
      const { wanted, excluded } = parts(query)
      const not = new Set(
        excluded.flatMap((term) => index.search(term, { prefix: false, fuzzy: false }).map(({ id }) => id))
      )
      return index
        .search(wanted.join(" ").replaceAll('"', " "))
        .flatMap(({ id }) => (not.has(id) ? [] : [`${id}`]))
        .slice(0, depth)
    })
}
