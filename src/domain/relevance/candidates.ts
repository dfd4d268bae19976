import { samples } from "./DocumentTerms.ts"
import { type Alternative, maxRequired, type QueryTerms, type Slot } from "./QueryTerms.ts"
import type { WordFigures } from "./WordFigures.ts"

/** One way to look for documents, as a `tsquery`. */
export interface Lookup {
  readonly query: string
  /** Most documents that it gives to the ranking. */
  readonly limit: number
  /** True where what it finds has every required slot, also where that is too far down in the text to be ranked. */
  readonly complete: boolean
}

/** Documents that a lookup may read from the index. More cost too much time, so that it reads samples instead. */
const maxReads = 20_000

/** Candidates after which the later, less exact lookups are left out. More than any page shows: five of twenty. */
export const enoughCandidates = 150

const limits = { names: 30, words: 200, fallback: 120 }

/** Above this, the ways to leave out one slot are too many for one query. */
const maxLeavingOut = 6

const or = (parts: ReadonlyArray<string>): string => (parts.length === 1 ? (parts[0] ?? "") : `(${parts.join(" | ")})`)
const and = (parts: ReadonlyArray<string>): string => (parts.length === 1 ? (parts[0] ?? "") : `(${parts.join(" & ")})`)

const lexeme = (term: string, prefix = false): string => `'${term}'${prefix ? ":*" : ""}`

/** A slot, in titles or anywhere, with the documents that have it. */
interface Clause {
  readonly query: string
  readonly count: number
}

const clauseOf = (figures: WordFigures, { alternatives }: Slot, mark: "" | "="): Clause => ({
  query: or(alternatives.map(({ prefix, term }: Alternative) => lexeme(`${mark}${term}`, prefix))),
  count: alternatives.reduce((sum, { term }) => sum + figures.count(`${mark}${term}`), 0)
})

const rarest = (clauses: ReadonlyArray<Clause>): number => Math.min(...clauses.map(({ count }) => count))

/**
 * The lookups of a query, the most exact first: its name, all words in titles, all words with a rare one in the title,
 * all words, most of them, some of them. Each reads a bounded part of the index, because the rarest word of those that
 * must be there bounds what is read.
 */
export const lookupsOf = (query: QueryTerms, figures: WordFigures): ReadonlyArray<Lookup> => {
  const required = query.slots.flatMap((slot, index) => (slot.required ? [{ index, slot }] : []))
  if (required.length === 0) return []
  const anywhere = required
    .map(({ index, slot }) => ({ index, slot, any: clauseOf(figures, slot, "") }))
    .sort((a, b) => a.any.count - b.any.count || a.index - b.index)
    .slice(0, maxRequired)
  const any = anywhere.map((entry) => entry.any)
  const title = anywhere.map(({ slot }) => clauseOf(figures, slot, "="))
  const exclusions = query.excluded.map((term) => ` & !${lexeme(term)}`).join("")

  const lookup = (text: string, reads: number, limit: number, complete: boolean): Lookup => ({
    query: `${text}${sampleFor(reads, figures)}${exclusions}`,
    limit,
    complete
  })
  return [
    ...query.names.map((name) => lookup(lexeme(`^${name}`), figures.count(`^${name}`), limits.names, false)),
    lookup(and(title.map((clause) => clause.query)), rarest(title), limits.words, true),
    ...together(query, anywhere.map(({ index }) => index), any, figures, lookup),
    ...(any.length < 2
      ? []
      : [lookup(and([or(title.slice(0, 2).map((clause) => clause.query)), ...any.map((clause) => clause.query)]), rarest(any), limits.words, true)]),
    lookup(and(any.map((clause) => clause.query)), rarest(any), limits.words, true),
    ...partial(any, title, lookup)
  ]
}

type MakeLookup = (text: string, reads: number, limit: number, complete: boolean) => Lookup

/** Neighbours of the query that a document writes together: "web assembly" finds WebAssembly. */
const together = (
  { pairs }: QueryTerms,
  order: ReadonlyArray<number>,
  any: ReadonlyArray<Clause>,
  figures: WordFigures,
  lookup: MakeLookup
): ReadonlyArray<Lookup> => {
  const ways = pairs.flatMap(({ left, right, term }): ReadonlyArray<Clause> => {
    if (term === undefined || !order.includes(left) || !order.includes(right)) return []
    const others = any.filter((_, position) => order[position] !== left && order[position] !== right)
    const joined: Clause = { query: lexeme(term), count: figures.count(term) }
    return [{ query: and([joined.query, ...others.map((clause) => clause.query)]), count: rarest([joined, ...others]) }]
  })
  if (ways.length === 0 || ways.length > 3) return []
  return [lookup(or(ways.map((way) => way.query)), sum(ways), limits.fallback, true)]
}

const sum = (clauses: ReadonlyArray<Clause>): number => clauses.reduce((total, { count }) => total + count, 0)

/** Lookups that leave words out. The clauses are sorted, the rarest first. */
const partial = (
  any: ReadonlyArray<Clause>,
  title: ReadonlyArray<Clause>,
  lookup: MakeLookup
): ReadonlyArray<Lookup> => {
  if (any.length < 2) return []
  const few = any.slice(0, maxLeavingOut)
  const without = few.map((_, left) => and(few.filter((_, index) => index !== left).map((clause) => clause.query)))
  const rareTitles = title.slice(0, 3)
  const pair = any.length > 3 ? any.slice(0, 4).flatMap((a, i) => any.slice(i + 1, 4).map((b) => and([a.query, b.query]))) : []
  return [
    // Of all ways to leave one out, only one lacks the rarest: all others are bounded by it, and this one by the next.
    ...(any.length > 2 ? [lookup(or(without), sum(few.slice(0, 2)), limits.fallback, false)] : []),
    ...(pair.length > 0 ? [lookup(or(pair), sum(any.slice(0, 3)), limits.fallback, false)] : []),
    lookup(or(rareTitles.map((clause) => clause.query)), sum(rareTitles), limits.fallback, false),
    lookup(or(any.slice(0, 2).map((clause) => clause.query)), sum(any.slice(0, 2)), limits.fallback, false)
  ]
}

/** The condition that keeps a lookup within its bound: as many samples of the documents as it may read. */
const sampleFor = (reads: number, { documents }: WordFigures): string => {
  if (reads <= maxReads) return ""
  const count = Math.max(1, Math.floor((maxReads * samples) / documents))
  return count >= samples ? "" : ` & ${or(Array.from({ length: count }, (_, index) => lexeme(`%${index}`)))}`
}
