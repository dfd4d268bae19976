import { Clock, Effect, Ref, Schema, Semaphore } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { type WordFigures, wordFigures } from "../../domain/relevance/WordFigures.ts"
import { rowOf } from "./Rows.ts"
import { unlimited } from "./StatementLimit.ts"

/** Figures are read again after this time, because another process may have loaded documents. */
const maxAgeMs = 60_000

const Row = Schema.Struct({
  documents: Schema.Finite,
  terms: Schema.Array(Schema.String),
  shares: Schema.Array(Schema.Finite)
})
const figuresRow = rowOf(Row)

/** The figures of the words of the index, from the statistics that the database keeps of it. */
export interface DocumentFigures {
  readonly current: Effect.Effect<WordFigures, SqlError.SqlError>
  /** Indexes what waits for it, makes the statistics anew, and reads them. */
  readonly refresh: Effect.Effect<void, SqlError.SqlError>
}

const none = wordFigures(0, [], [])

/** `most_common_elems` is an array of whatever the column holds, which has no type of its own: hence the text. */
const read = (sql: SqlClient.SqlClient) =>
  Effect.map(
    figuresRow(sql`
      select greatest(reltuples, 0)::float8 as documents,
        coalesce(most_common_elems::text::text[], '{}') as terms,
        coalesce(most_common_elem_freqs::float8[], '{}') as shares
      from pg_class left join pg_stats on pg_stats.tablename = 'indexed_documents_terms' and schemaname = current_schema()
      where pg_class.oid = 'indexed_documents'::regclass`),
    (row) => (row === undefined ? none : wordFigures(row.documents, row.terms, row.shares))
  )

export const make = Effect.fnUntraced(function* (sql: SqlClient.SqlClient): Effect.fn.Return<DocumentFigures> {
  const state = yield* Ref.make({ figures: none, readAt: Number.NEGATIVE_INFINITY })
  const one = yield* Semaphore.make(1)
  const renew = Effect.gen(function* () {
    const figures = yield* read(sql)
    yield* Ref.set(state, { figures, readAt: yield* Clock.currentTimeMillis })
    return figures
  })
  const current = Effect.gen(function* () {
    const { figures, readAt } = yield* Ref.get(state)
    if ((yield* Clock.currentTimeMillis) - readAt < maxAgeMs) return figures
    return yield* one.withPermits(1)(
      Effect.gen(function* () {
        const fresh = yield* Ref.get(state)
        return (yield* Clock.currentTimeMillis) - fresh.readAt < maxAgeMs ? fresh.figures : yield* renew
      })
    )
  })
  // No autovacuum runs on the embedded database.
  const analyze = Effect.andThen(
    sql`select gin_clean_pending_list('indexed_documents_terms')`,
    sql`analyze indexed_documents`
  )
  // Reading them has no time limit either: a load that writes meanwhile may have the only connection.
  const refresh = Effect.asVoid(unlimited(sql, Effect.andThen(analyze, renew)))
  return { current, refresh }
})
