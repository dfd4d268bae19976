import { minCoverage } from "./candidates.ts"
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

/** BM25F: what a word counts in each field, how long the field usually is, and how much its length matters. */
const fields = [
  { name: "title", weight: 4, words: 6, lengthMatters: 0.55 },
  { name: "url", weight: 1, words: 8, lengthMatters: 0.3 },
  { name: "description", weight: 1.2, words: 30, lengthMatters: 0.5 },
  { name: "content", weight: 0.6, words: 300, lengthMatters: 0.6 }
] as const

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

const unitsOf = (query: QueryTerms, figures: WordFigures): ReadonlyArray<Unit> => {
  const slots = query.slots.map(
    (slot): Unit => ({
      ...slot,
      worth: slotWorth(figures, slot) * (slot.required ? 1 : weights.filler)
    })
  )
  const joined = new Set([...query.compounds, ...query.pairs.flatMap(({ term }) => (term === undefined ? [] : [term]))])
  const compounds = [...joined].map(
    (term): Unit => ({
      alternatives: [{ term, weight: 1, prefix: false }],
      required: false,
      worth:
        rarity(figures, figures.count(term)) *
        weights.compound *
        (query.compounds.includes(term) ? 1 : weights.writtenTogether)
    })
  )
  return [...slots, ...compounds]
}

/** The units that each term counts for, and the prefixes that any term may begin with. */
const indexUnits = (units: ReadonlyArray<Unit>) => {
  const exact = new Map<string, Array<{ readonly unit: number; readonly weight: number }>>()
  const prefixes: Array<{ readonly unit: number; readonly weight: number; readonly term: string }> = []
  for (const [unit, { alternatives }] of units.entries()) {
    for (const { prefix, term, weight } of alternatives) {
      if (prefix) prefixes.push({ unit, weight, term })
      const others = exact.get(term)
      if (others === undefined) exact.set(term, [{ unit, weight }])
      else others.push({ unit, weight })
    }
  }
  return (term: string) =>
    exact.get(term) ?? (prefixes.length === 0 ? [] : prefixes.filter((prefix) => term.startsWith(prefix.term)))
}

/** The places at which the units of a query stand in a document. */
interface Occurrences {
  /** Of each unit, over all fields: how often, by the weight of field and alternative. */
  readonly frequency: Float64Array
  readonly inTitle: ReadonlySet<number>
  readonly inDescription: ReadonlySet<number>
  readonly titleWords: number
  readonly matchedTitleWords: number
  /** For each pair of the query: 0, or the greatest weight of a place where both stand side by side. */
  readonly nearness: Float64Array
}

const count = (
  lines: ReadonlyArray<string>,
  unitsOfTerm: ReturnType<typeof indexUnits>,
  units: number,
  pairs: QueryTerms["pairs"]
): Occurrences => {
  const frequency = new Float64Array(units)
  const nearness = new Float64Array(pairs.length)
  const found = fields.map(() => new Set<number>())
  let titleWords = 0
  let matchedTitleWords = 0
  for (const [index, { lengthMatters, weight: fieldWeight, words }] of fields.entries()) {
    const terms = (lines[index + 1] ?? "").split(" ").filter((term) => term !== "")
    const scale = fieldWeight / (1 - lengthMatters + (lengthMatters * terms.length) / words)
    const near = index === 0 ? weights.nearInTitle : weights.nearElsewhere
    let before: ReadonlyArray<{ readonly unit: number }> = []
    let matched = 0
    for (const term of terms) {
      const hits = unitsOfTerm(term)
      let isNew = false
      for (const { unit, weight } of hits) {
        if (index === 0 && found[0]?.has(unit)) continue
        isNew = true
        frequency[unit] = (frequency[unit] ?? 0) + weight * scale
        found[index]?.add(unit)
      }
      if (isNew) matched++
      if (hits.length > 0 && before.length > 0) {
        for (const [position, { left, right }] of pairs.entries()) {
          if ((nearness[position] ?? 0) >= near || !before.some(({ unit }) => unit === left)) continue
          if (hits.some(({ unit }) => unit === right)) nearness[position] = near
        }
      }
      before = hits
    }
    if (index === 0) {
      titleWords = terms.length
      matchedTitleWords = matched
    }
  }
  return {
    frequency,
    inTitle: found[0] ?? new Set(),
    inDescription: found[2] ?? new Set(),
    titleWords,
    matchedTitleWords,
    nearness
  }
}

/** True where the query writes words apart that the title writes together. */
const isTitleTogether = ({ compounds, pairs }: QueryTerms, title: string): boolean =>
  compounds.length === 0 && pairs.some(({ term }) => term !== undefined && title.includes(` ${term} `))

/** The worth of a query that is the name of the document, whose first two lines of terms are these. */
const nameWorth = (query: QueryTerms, line: string, title: string): number => {
  const has = (mark: string) => query.names.some((name) => line.includes(` ${mark}${name} `))
  const worth = (has("^") ? weights.titleName : 0) + (has("/") ? weights.addressName : 0)
  return worth > 0 && isTitleTogether(query, title) ? worth * weights.nameTogether : worth
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
  const units = unitsOf(query, figures)
  const unitsOfTerm = indexUnits(units)
  const required = units.flatMap((unit, index) => (unit.required ? [{ index, worth: unit.worth }] : []))
  const total = required.reduce((sum, { worth }) => sum + worth, 0)
  const least = minCoverage(required.length)
  const judged: Array<Judged> = []
  for (const candidate of candidates) {
    const lines = candidate.terms.split("\n")
    const occurrences = count(lines, unitsOfTerm, units.length, query.pairs)
    const { frequency } = occurrences
    fillJoined(frequency, query)
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
    const { matchedTitleWords, titleWords } = occurrences
    score += total * weights.titleShare * (titleWords === 0 ? 0 : matchedTitleWords / titleWords)
    const named = nameWorth(query, lines[0] ?? "", lines[1] ?? "")
    score += Math.max(total, weights.leastNameRarity) * named
    score *= coverage ** 2 * languageFactor(candidate.language, language)
    const inDescription = required.some(({ index }) => occurrences.inDescription.has(index))
    judged.push({ candidate, score, coverage, inDescription, isNamed: named > 0 })
  }
  return liftAbove(judged).toSorted(bestFirst)
}

/** A document that writes two words of the query together has both of them. */
const fillJoined = (frequency: Float64Array, { compounds, pairs, slots }: QueryTerms): void => {
  const joined = [...new Set([...compounds, ...pairs.flatMap(({ term }) => (term === undefined ? [] : [term]))])]
  for (const { left, right, term } of pairs) {
    if (term === undefined) continue
    const times = frequency[slots.length + joined.indexOf(term)] ?? 0
    if (times === 0) continue
    frequency[left] = Math.max(frequency[left] ?? 0, times)
    frequency[right] = Math.max(frequency[right] ?? 0, times)
  }
}
