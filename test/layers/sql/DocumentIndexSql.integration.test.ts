import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { documentOf, queryFor, randomFrom } from "../../../bench/index/Corpus.ts"
import { documentTerms } from "../../../src/domain/relevance/DocumentTerms.ts"
import { readQuery } from "../../../src/domain/relevance/QueryTerms.ts"
import { type Candidate, rankCandidates } from "../../../src/domain/relevance/score.ts"
import { spreadHosts } from "../../../src/domain/relevance/spread.ts"
import type { WordFigures } from "../../../src/domain/relevance/WordFigures.ts"
import * as DocumentFigures from "../../../src/layers/sql/DocumentFigures.ts"
import * as DocumentIndexSql from "../../../src/layers/sql/DocumentIndexSql.ts"
import * as DocumentLoad from "../../../src/layers/sql/DocumentLoad.ts"
import * as Migrations from "../../../src/layers/sql/Migrations.ts"
import * as Pglite from "../../../src/layers/sql/Pglite.ts"
import { DocumentIndex } from "../../../src/services/DocumentIndex.ts"
import * as EmbeddedDatabase from "../../support/EmbeddedDatabase.ts"
import { describeWithPostgres, layer as postgres } from "../../support/Postgres.ts"
import { searchRequest } from "../../support/requests.ts"
import { documentIndexConformance } from "../DocumentIndex.conformance.ts"

const migrated = Layer.effectDiscard(Migrations.run)

documentIndexConformance("PGlite", DocumentIndexSql.layer.pipe(Layer.provide(EmbeddedDatabase.layer), Layer.orDie))

/** The first ten documents with all words of the query, of a ranking of every document there is. */
const firstTen = (query: string, figures: WordFigures, candidates: ReadonlyArray<Candidate>) => {
  const ranked = rankCandidates(readQuery(query), figures, candidates, "en")
  const whole = ranked.filter(({ coverage }) => coverage > 0.999)
  return spreadHosts(whole, ({ candidate }) => candidate.url)
    .slice(0, 10)
    .map(({ candidate }) => candidate.url)
}

describe("a few hundred documents in the embedded database", () => {
  it.live("the lookups find the best of those that have all words", () =>
    Effect.gen(function* () {
      const documents = Array.from({ length: 300 }, (_, number) => documentOf(number))
      const index = yield* DocumentIndex
      yield* index.load(Stream.fromIterable(documents), { target: undefined, replace: false })
      const figures = yield* (yield* DocumentFigures.make(yield* SqlClient.SqlClient)).current
      const candidates = documents.map(({ content = "", description, title, url }) => {
        const terms = documentTerms({ url, title, description, content })
        return { id: url, url, language: "en", terms, complete: false }
      })
      const random = randomFrom(18)
      for (const words of Array.from({ length: 100 }, (_, number) => (number % 4) + 1)) {
        const query = queryFor(random, documents.length, words)
        const expected = firstTen(query, figures, candidates)
        const found = yield* index.search(searchRequest({ query }))
        assert.deepStrictEqual(
          found.slice(0, expected.length).map(({ url }) => url),
          expected,
          query
        )
      }
    }).pipe(Effect.provide(DocumentIndexSql.layer.pipe(Layer.provideMerge(EmbeddedDatabase.layer), Layer.orDie)))
  )
})

describe("the migration", () => {
  it.live("copies the documents of the version before, each for its target", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Migrations.runFile("documents.sql")
      yield* sql`insert into documents (target, url, title, description, language) values
        (null, 'https://d/all', 'Typography', 'Of fonts.', 'en'), ('beta_search', 'https://d/beta', 'Typography', '', null)`
      yield* Migrations.runFile("documents_terms.sql")
      yield* DocumentLoad.copyUnread(sql)
      const rows =
        yield* sql`select target, url, title, description, content, language from indexed_documents order by id`
      assert.deepStrictEqual(rows, [
        {
          target: null,
          url: "https://d/all",
          title: "Typography",
          description: "Of fonts.",
          content: "",
          language: "en"
        },
        {
          target: "beta_search",
          url: "https://d/beta",
          title: "Typography",
          description: "",
          content: "",
          language: null
        }
      ])
    }).pipe(Effect.provide(Layer.orDie(Pglite.layer({ dataDir: undefined }))))
  )
})

describeWithPostgres("Postgres", () =>
  documentIndexConformance(
    "Postgres",
    DocumentIndexSql.layer.pipe(Layer.provide(migrated), Layer.provide(postgres), Layer.orDie)
  )
)
