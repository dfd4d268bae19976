import { partsAndCompounds } from "./DocumentTerms.ts"
import { stemOf } from "./languages.ts"
import { wordsOf } from "./words.ts"

export interface TitleQuery {
  readonly worths: ReadonlyMap<string, number>
  readonly total: number
  readonly sequence: ReadonlyArray<string>
  readonly language: string
}

/** Share of the query's weight added for a title that equals the query. */
const titleShare = 0.5

/** Share of the smaller weight added for two neighboring query terms that are neighbors in the title too. */
const nearness = 0.25

const maxTitleWords = 60

/** Share of the query's weight, or of a rare word's, added if the query equals a name in the title. */
const nameShare = 1.2
const leastNameWorth = 6

/** Words at the end of a title that name a kind: "Window: fetch() method" is about `fetch`. */
const kind =
  / (?:api|attribute|class|command|component|constructor|directive|element|event|function|header|hook|interface|keyword|method|module|object|operator|package|property|rule|statement|type)s?$/i

/** An abbreviation in a title: "Cross-Origin Resource Sharing (CORS)". */
const abbreviation = /\((\p{Lu}[\p{L}\p{N}]*\p{Lu}[\p{L}\p{N}]*)\)/u

/** The maximum length of a site name after a dash. Longer text belongs to the title: "git-add - Add file contents". */
const maxSiteWords = 3

/** Removes names of site and section: "CSS grid layout - CSS | MDN" becomes "CSS grid layout". */
const headOf = (title: string): string => {
  const [, beforeBar = title] = /^(.*\S)\s+\|\s+.*$/s.exec(title) ?? []
  const [, beforeDash = beforeBar, behindDash = ""] = /^(.*\S)\s+[·•–—-]\s+(.*)$/s.exec(beforeBar) ?? []
  return wordsOf(behindDash, maxSiteWords + 1).length <= maxSiteWords ? beforeDash : beforeBar
}

/** The names in a title: the whole title, the part after a colon, an abbreviation, and each without its kind. */
const namesIn = (title: string): ReadonlyArray<string> => {
  const head = headOf(title)
  const names = [head, head.slice(head.lastIndexOf(": ") + 1)].map((name) => name.replace(/\([^)]*\)/g, " ").trim())
  return [...names, ...names.map((name) => name.replace(kind, "")), abbreviation.exec(head)?.[1] ?? ""]
}

const termsOf = (text: string, language: string): ReadonlyArray<string> =>
  wordsOf(text, maxTitleWords).flatMap(({ parts }) => parts.map((part) => stemOf(part, language)))

const termsOfTitle = (title: string, language: string): ReadonlyArray<string> =>
  partsAndCompounds(wordsOf(headOf(title), maxTitleWords)).map((part) => stemOf(part, language))

/**
 * The score that a title adds to its document. It grows with the share of the query in the title and shrinks with other
 * words. Long queries gain little, because no title contains much of them.
 */
export const titleScore = ({ language, sequence, total, worths }: TitleQuery, title: string): number => {
  const terms = termsOfTitle(title, language)
  if (terms.length === 0 || total === 0) return 0
  const covered = new Set(terms).values().reduce((sum, term) => sum + (worths.get(term) ?? 0), 0)
  const matched = terms.filter((term) => worths.has(term)).length
  const neighbours = new Set(terms.slice(1).map((term, index) => `${terms[index]} ${term}`))
  const near = sequence.slice(1).reduce((sum, term, index) => {
    const before = sequence[index] ?? ""
    if (!neighbours.has(`${before} ${term}`)) return sum
    return sum + Math.min(worths.get(before) ?? 0, worths.get(term) ?? 0)
  }, 0)
  const name = sequence.join(" ")
  const isName =
    sequence.every((term) => terms.includes(term)) &&
    namesIn(title).some((each) => termsOf(each, language).join(" ") === name)
  return (
    titleShare * Math.min(total, covered) * (matched / terms.length) +
    nearness * near +
    (isName ? nameShare * Math.max(total, leastNameWorth) : 0)
  )
}

/** Ranks documents in the requested language before equally good ones in other languages. */
export const languageFactor = (language: string | null, wanted: string): number => {
  if (language === null) return 0.95
  return language === wanted ? 1 : 0.9
}
