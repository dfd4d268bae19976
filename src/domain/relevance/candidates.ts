import { samples } from "./DocumentTerms.ts"
import { maxRequired, type QueryTerms, type Slot } from "./QueryTerms.ts"
import { slotWorth, type WordFigures } from "./WordFigures.ts"

/** One way to look for documents, as a `tsquery`. */
export interface Lookup {
  readonly query: string
  /** Most documents that it gives to the ranking. */
  readonly limit: number
  /** It is left out when the lookups before it have found so many. */
  readonly enough: number
  /** True where what it finds has every required slot, also where that is too far down in the text to be ranked. */
  readonly complete: boolean
}

/**
 * The share of the query's required slots, by rarity, that a document must have. With less it is about something else;
 * but of a question or an error message, which has many words, no document has most.
 */
export const minCoverage = (requiredSlots: number): number => {
  if (requiredSlots < 4) return 0.45
  return requiredSlots < 6 ? 0.35 : 0.25
}

/**
 * Entries of the index that a lookup may read. More would take too much time: it reads some samples instead. All that is
 * read for one word is found, which costs more than entries of which few have the other words too.
 */
const maxReads = { ofOneWord: 20_000, ofSeveral: 30_000 }

/** Matches in the samples that are read: twice as many as the database hands to the sort by title. */
const maxSampledReads = 1_200

/**
 * A word in so few documents is a rare one. Where one of several words is rare, all documents with all words are
 * candidates, so that lookups for short titles and for one word in the title would find nothing more.
 */
const maxRareReads = 1_000

/**
 * The words that documents must have, however common they are. Another one that more than this share of many documents
 * has is not looked for: it excludes few of them, and its list is the longest. The ranking counts it.
 */
const alwaysLookedFor = 2
const maxShare = 0.2

/** Samples of one lookup: each is one more list that the database reads beside the others. */
const maxSamples = 4

/** Documents with all words are looked for until there are as many as the last page shows: five pages of twenty. */
const enough = { complete: 100, partial: 20 }
const limits = { name: 30, complete: 200, withRareWord: 600, partial: 100 }

/** Slots that are left out or combined by turns: the rarest ones. More make too many combinations for one query. */
const maxCombined = 6
const minCombined = 2
const maxPairs = 4

const or = (parts: ReadonlyArray<string>): string => (parts.length === 1 ? (parts[0] ?? "") : `(${parts.join(" | ")})`)
const and = (parts: ReadonlyArray<string>): string => (parts.length === 1 ? (parts[0] ?? "") : `(${parts.join(" & ")})`)
const lexeme = (term: string, prefix = false): string => `'${term}'${prefix ? ":*" : ""}`

/** A condition with an upper bound of the documents that the database reads for it. */
interface Clause {
  readonly query: string
  readonly reads: number
  /** True where a document must have several words. */
  readonly isNarrow: boolean
}

const all = (clauses: ReadonlyArray<Clause>): Clause => ({
  query: and(clauses.map(({ query }) => query)),
  reads: Math.min(...clauses.map(({ reads }) => reads)),
  isNarrow: clauses.length > 1 || clauses.every(({ isNarrow }) => isNarrow)
})

const any = (clauses: ReadonlyArray<Clause>): Clause => ({
  query: or(clauses.map(({ query }) => query)),
  reads: clauses.reduce((sum, { reads }) => sum + reads, 0),
  isNarrow: clauses.every(({ isNarrow }) => isNarrow)
})

const termClause = (figures: WordFigures, term: string, prefix = false): Clause => ({
  query: lexeme(term, prefix),
  reads: figures.count(term),
  isNarrow: false
})

/** A required slot of the query, anywhere in a document and in titles. */
interface RequiredSlot {
  readonly index: number
  /** The share of the required slots' rarity that it has. */
  readonly share: number
  readonly anywhere: Clause
  readonly inTitle: Clause
  readonly inShortTitle: Clause
}

const clauseOf = (figures: WordFigures, { alternatives }: Slot, mark: "" | "=" | "~"): Clause =>
  any(alternatives.map(({ prefix, term }) => termClause(figures, `${mark}${term}`, prefix)))

/** The rarest required slots, in this order. */
const requiredSlotsOf = ({ slots }: QueryTerms, figures: WordFigures): ReadonlyArray<RequiredSlot> => {
  const total = slots.reduce((sum, slot) => sum + (slot.required ? slotWorth(figures, slot) : 0), 0)
  return slots
    .flatMap((slot, index) => (slot.required ? [{ slot, index }] : []))
    .map(({ index, slot }) => ({
      index,
      share: total === 0 ? 1 : slotWorth(figures, slot) / total,
      anywhere: clauseOf(figures, slot, ""),
      inTitle: clauseOf(figures, slot, "="),
      inShortTitle: clauseOf(figures, slot, "~")
    }))
    .sort((a, b) => a.anywhere.reads - b.anywhere.reads || a.index - b.index)
    .slice(0, maxRequired)
}

/** The slots, the rarest first, without words that are too common to look for. */
const lookedFor = (
  wanted: ReadonlyArray<RequiredSlot>,
  { documents }: WordFigures,
  always = alwaysLookedFor
): ReadonlyArray<RequiredSlot> => {
  const most = Math.max(maxReads.ofOneWord, documents * maxShare)
  return wanted.filter(({ anywhere }, index) => index < always || anywhere.reads <= most)
}

/** Neighbours of the query that a document writes together: "web assembly" finds WebAssembly. */
const joinedWays = (
  { pairs }: QueryTerms,
  wanted: ReadonlyArray<RequiredSlot>,
  figures: WordFigures
): ReadonlyArray<Clause> =>
  pairs.flatMap(({ left, right, term }) => {
    const others = wanted.filter(({ index }) => index !== left && index !== right)
    if (term === undefined || others.length !== wanted.length - 2) return []
    const telling = lookedFor(others, figures, alwaysLookedFor - 1)
    return [all([termClause(figures, term), ...telling.map(({ anywhere }) => anywhere)])]
  })

/** True for several words of which one is in few documents. */
const hasRareWord = (wanted: ReadonlyArray<RequiredSlot>): boolean =>
  wanted.length > 1 && wanted.some(({ anywhere }) => anywhere.reads <= maxRareReads)

/** The lookups that find documents with every required slot, or with all but very common words. */
const completeLookups = (
  query: QueryTerms,
  wanted: ReadonlyArray<RequiredSlot>,
  figures: WordFigures
): ReadonlyArray<Clause> => {
  const slots = lookedFor(wanted, figures)
  const anywhere = slots.map((slot) => slot.anywhere)
  const titles = slots.map(({ inTitle }) => inTitle)
  const joined = joinedWays(query, wanted, figures)
  const together = joined.length === 0 || joined.length > maxPairs ? [] : [any(joined)]
  if (hasRareWord(wanted)) return [all(titles), ...together, all(anywhere)]
  return [
    all(slots.map(({ inShortTitle }) => inShortTitle)),
    all(titles),
    ...together,
    ...(slots.length < 2 ? [] : [all([any(titles.slice(0, 2)), ...anywhere])]),
    all(anywhere)
  ]
}

/** All ways to take so many of the items, in their order. */
const combinations = <A>(items: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  size === 0
    ? [[]]
    : items.flatMap((item, index) => combinations(items.slice(index + 1), size - 1).map((rest) => [item, ...rest]))

/**
 * The slots that are combined: a very common word is not, where there are others. It says little about a document, and
 * each combination with it would read many entries.
 */
const combinedOf = (wanted: ReadonlyArray<RequiredSlot>): ReadonlyArray<RequiredSlot> => {
  const few = wanted.slice(0, maxCombined)
  const rarer = few.filter(({ anywhere }) => anywhere.reads <= maxReads.ofSeveral)
  return rarer.length < minCombined ? few.slice(0, minCombined) : rarer
}

/** The lookups that leave required slots out, as long as what is left is enough of the query. */
const partialLookups = (wanted: ReadonlyArray<RequiredSlot>, requiredSlots: number): ReadonlyArray<Clause> => {
  const few = combinedOf(wanted)
  const least = minCoverage(requiredSlots)
  const isEnough = (slots: ReadonlyArray<RequiredSlot>) => slots.reduce((sum, { share }) => sum + share, 0) >= least
  const ways = (size: number, from = few) => (size < wanted.length ? combinations(from, size).filter(isEnough) : [])
  const anywhere = (slots: ReadonlyArray<RequiredSlot>) => all(slots.map((slot) => slot.anywhere))
  const inTitle = (slots: ReadonlyArray<RequiredSlot>) => all(slots.map((slot) => slot.inTitle))
  return [
    few.length > 3 ? ways(few.length - 1).map(anywhere) : [],
    few.length > 4 ? ways(3).map(anywhere) : [],
    ways(2).map(inTitle),
    ways(2, few.slice(0, maxPairs)).map(anywhere),
    ways(1).map(inTitle),
    ways(1).map(anywhere)
  ].flatMap((found) => (found.length === 0 ? [] : [any(found)]))
}

/** The condition that keeps a lookup within its bound: samples that have about as many matches as are read. */
const sampled = ({ isNarrow, query, reads }: Clause): string => {
  if (reads <= (isNarrow ? maxReads.ofSeveral : maxReads.ofOneWord)) return query
  const count = Math.min(maxSamples, Math.max(1, Math.floor((maxSampledReads * samples) / reads)))
  return and([query, or(Array.from({ length: count }, (_, index) => lexeme(`%${index}`)))])
}

/**
 * The lookups of a query, the most exact first: documents of its name, all words in short titles, all words in titles,
 * all words with a rare one in the title, all words, most of them, some of them. Each reads a bounded part of the index:
 * the rarest of the words that must be there bounds it.
 */
export const lookupsOf = (query: QueryTerms, figures: WordFigures): ReadonlyArray<Lookup> => {
  const wanted = requiredSlotsOf(query, figures)
  const requiredSlots = query.slots.filter(({ required }) => required).length
  if (wanted.length === 0) return []
  const isWhole = lookedFor(wanted, figures).length === wanted.length
  const exclusions = query.excluded.map((term) => ` & !${lexeme(term)}`).join("")
  const complete = hasRareWord(wanted) ? "withRareWord" : "complete"
  const lookup =
    (kind: "name" | "complete" | "withRareWord" | "partial") =>
    (clause: Clause): Lookup => ({
      query: `${sampled(clause)}${exclusions}`,
      limit: limits[kind],
      enough: kind === "partial" ? enough.partial : enough.complete,
      complete: kind === complete && isWhole
    })
  const lookups = [
    ...query.names
      .map((name) => any([termClause(figures, `^${name}`), termClause(figures, `/${name}`)]))
      .map(lookup("name")),
    ...completeLookups(query, wanted, figures).map(lookup(complete)),
    // A phrase is looked for in every document that a lookup finds, so that there are few lookups for it.
    ...(query.phrases.length > 0 ? [] : partialLookups(wanted, requiredSlots).map(lookup("partial")))
  ]
  // Without the common words, a lookup for most of the words may be the same as one for all.
  return lookups.filter(({ query }, index) => lookups.findIndex((other) => other.query === query) === index)
}
