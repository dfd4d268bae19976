import { minCoverage } from "./candidates.ts"
import { OccurrenceCounter } from "./occurrences.ts"
import type { QueryTerms } from "./QueryTerms.ts"
import { rarity, slotWorth, type WordFigures } from "./WordFigures.ts"

/** A document as the ranking sees it. */
export interface Candidate {
  readonly id: string
  readonly url: string
  readonly language: string | null
  /** The beginning of what `documentTerms` made of it. */
  readonly terms: string
  /** True where it has every required slot, though perhaps further down than `terms` reaches. */
  readonly complete: boolean
}

export interface Scored {
  readonly candidate: Candidate
  readonly score: number
  /** The share of the required slots that it has, each counted by its rarity. */
  readonly coverage: number
  /** True where a required slot stands in the description, from which the snippet is then taken. */
  readonly inDescription: boolean
}

/** The second and third occurrence of a word count less: the smaller this is, the sooner. */
const saturation = 1.2

const weights = {
  /** Words such as "how" and "the". */
  filler: 0.15,
  /** A name as it is written, and neighbours written together. */
  compound: 0.5,
  /** Neighbours of the query that a document writes together, beside a name that the query writes together. */
  writtenTogether: 0.3,
  /** Neighbours of the query that are neighbours in the title, and elsewhere. */
  nearInTitle: 0.5,
  nearElsewhere: 0.25,
  /** The query is the document's name: the title or a part of it, and the last part of the address. */
  titleName: 1.2,
  addressName: 0.3,
  /** The document's name is the query's words written together: "CSS animation" is not quite `CSSAnimation`. */
  nameTogether: 0.5,
  /** A name is worth at least so much rarity: "for...of" has common words only. */
  leastNameRarity: 6,
  /** The part of the title's words that the query has. */
  titleShare: 0.5
}

/** A page with so much of the score of a page below its address stands before it: it is what the other is a detail of. */
const minShareOfDetail = 0.7

const languageFactor = (language: string | null, wanted: string): number => {
  if (language === null) return 0.9
  return language === wanted ? 1 : 0.5
}

/** Something that is counted in documents: a slot, or a name written together. */
interface Unit {
  readonly worth: number
  readonly required: boolean
  readonly alternatives: QueryTerms["slots"][number]["alternatives"]
}

/** Names as the query writes them, and its neighbours written together. */
const joinedTerms = ({ compounds, pairs }: QueryTerms): ReadonlyArray<string> => [
  ...new Set([...compounds, ...pairs.flatMap(({ term }) => (term === undefined ? [] : [term]))])
]

/** The slots of a query, then its joined terms. */
const unitsOf = (query: QueryTerms, joined: ReadonlyArray<string>, figures: WordFigures): ReadonlyArray<Unit> => [
  ...query.slots.map(
    (slot): Unit => ({
      ...slot,
      worth: slotWorth(figures, slot) * (slot.required ? 1 : weights.filler)
    })
  ),
  ...joined.map(
    (term): Unit => ({
      alternatives: [{ term, weight: 1, prefix: false }],
      required: false,
      worth:
        rarity(figures, figures.count(term)) *
        weights.compound *
        (query.compounds.includes(term) ? 1 : weights.writtenTogether)
    })
  )
]

const counterOf = (units: ReadonlyArray<Unit>, pairs: QueryTerms["pairs"]): OccurrenceCounter => {
  const sought = units.flatMap(({ alternatives }, unit) =>
    alternatives.map((alternative) => ({ ...alternative, unit }))
  )
  const neighbours = { pairs, inTitle: weights.nearInTitle, elsewhere: weights.nearElsewhere }
  return new OccurrenceCounter(sought, units.length, neighbours)
}

/** True where the query writes words apart that the title writes together. */
const isTitleTogether = ({ compounds, pairs }: QueryTerms, title: string): boolean =>
  compounds.length === 0 && pairs.some(({ term }) => term !== undefined && title.includes(` ${term} `))

/** Of the terms of a document, the worth of its names for a query that is one of them. */
const nameWorthOf = (query: QueryTerms): ((terms: string) => number) => {
  const [titles = [], addresses = []] = ["^", "/"].map((mark) => query.names.map((name) => ` ${mark}${name} `))
  return (terms) => {
    const line = terms.slice(0, Math.max(0, terms.indexOf("\n")))
    const has = (names: ReadonlyArray<string>) => names.some((name) => line.includes(name))
    const worth = (has(titles) ? weights.titleName : 0) + (has(addresses) ? weights.addressName : 0)
    return worth > 0 && isTitleTogether(query, terms.split("\n", 2)[1] ?? "") ? worth * weights.nameTogether : worth
  }
}

/** An address without a slash at its end, a query or a fragment. */
const pathOf = (url: string): string => url.replace(/[#?].*$/s, "").replace(/\/$/, "")

/** The addresses above an address, the nearest first, without the site's own. */
const pathsAbove = (path: string): ReadonlyArray<string> => {
  const segments = path.split("/")
  return Array.from({ length: Math.max(0, segments.length - 4) }, (_, index) => segments.slice(0, -1 - index).join("/"))
}

interface Judged extends Scored {
  /** True where the query is its name. */
  readonly isNamed: boolean
}

/**
 * The same documents, where a page that is nearly as good as a page below its address has the score of that page, and
 * so stands before it: the guide to CORS before one of its errors. A page that the query names does not lift others.
 */
const liftAbove = (judged: ReadonlyArray<Judged>): ReadonlyArray<Scored> => {
  const byPath = new Map(judged.map((each) => [pathOf(each.candidate.url), each]))
  const lifted = new Map(judged.map((each) => [each, each.score]))
  const scoreOf = (each: Judged) => lifted.get(each) ?? each.score
  // A page that was lifted lifts those above it: the guide is above the list of errors, which is above each error.
  for (const page of judged.toSorted(bestFirst)) {
    if (page.isNamed) continue
    for (const path of pathsAbove(pathOf(page.candidate.url))) {
      const above = byPath.get(path)
      if (above === undefined || above.coverage < page.coverage) continue
      if (scoreOf(above) >= scoreOf(page) * minShareOfDetail) lifted.set(above, Math.max(scoreOf(above), scoreOf(page)))
    }
  }
  return judged.map((each) => ({ ...each, score: scoreOf(each) }))
}

/** Ties are ordered by address, so that pages do not overlap. */
const bestFirst = (a: Scored, b: Scored): number => b.score - a.score || (a.candidate.url < b.candidate.url ? -1 : 1)

/** The candidates that have enough of the query, best first. */
export const rankCandidates = (
  query: QueryTerms,
  figures: WordFigures,
  candidates: Iterable<Candidate>,
  language: string
): ReadonlyArray<Scored> => {
  const joined = joinedTerms(query)
  const units = unitsOf(query, joined, figures)
  const counter = counterOf(units, query.pairs)
  const nameWorth = nameWorthOf(query)
  const required = units.flatMap((unit, index) => (unit.required ? [{ index, worth: unit.worth }] : []))
  const total = required.reduce((sum, { worth }) => sum + worth, 0)
  const least = minCoverage(required.length)
  const judged: Array<Judged> = []
  for (const candidate of candidates) {
    const occurrences = counter.read(candidate.terms)
    const { frequency, matchedTitleWords, titleWords } = occurrences
    fillJoined(frequency, query, joined)
    const has = (index: number) => candidate.complete || (frequency[index] ?? 0) > 0
    const covered = required.reduce((sum, { index, worth }) => sum + (has(index) ? worth : 0), 0)
    const coverage = total === 0 ? 1 : covered / total
    if (coverage < least) continue
    let score = 0
    for (const [index, { worth }] of units.entries()) {
      const times = frequency[index] ?? 0
      score += (worth * times * (saturation + 1)) / (times + saturation)
    }
    for (const [position, { left, right }] of query.pairs.entries()) {
      score += (occurrences.nearness[position] ?? 0) * Math.min(units[left]?.worth ?? 0, units[right]?.worth ?? 0)
    }
    score += total * weights.titleShare * (titleWords === 0 ? 0 : matchedTitleWords / titleWords)
    const named = nameWorth(candidate.terms)
    score += Math.max(total, weights.leastNameRarity) * named
    score *= coverage ** 2 * languageFactor(candidate.language, language)
    const inDescription = required.some(({ index }) => occurrences.inDescription[index] === 1)
    judged.push({ candidate, score, coverage, inDescription, isNamed: named > 0 })
  }
  return liftAbove(judged).toSorted(bestFirst)
}

/** A document that writes two words of the query together has both of them. */
const fillJoined = (frequency: Float64Array, { pairs, slots }: QueryTerms, joined: ReadonlyArray<string>): void => {
  for (const { left, right, term } of pairs) {
    if (term === undefined) continue
    const times = frequency[slots.length + joined.indexOf(term)] ?? 0
    if (times === 0) continue
    frequency[left] = Math.max(frequency[left] ?? 0, times)
    frequency[right] = Math.max(frequency[right] ?? 0, times)
  }
}
