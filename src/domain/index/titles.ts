import { partsAndCompounds } from "./DocumentTerms.ts"
import { stemOf } from "./languages.ts"
import { wordsOf } from "./words.ts"

export interface TitleQuery {
  readonly worths: ReadonlyMap<string, number>
  readonly total: number
  readonly language: string
}

/** Share of the query's weight added for a title that equals the query. */
const titleShare = 0.5

const maxTitleWords = 60

/** The maximum length of a site name after a dash. Longer text belongs to the title: "git-add - Add file contents". */
const maxSiteWords = 3

/** Removes names of site and section: "CSS grid layout - CSS | MDN" becomes "CSS grid layout". */
const headOf = (title: string): string => {
  const [, beforeBar = title] = /^(.*\S)\s+\|\s+.*$/s.exec(title) ?? []
  const [, beforeDash = beforeBar, behindDash = ""] = /^(.*\S)\s+[·•–—-]\s+(.*)$/s.exec(beforeBar) ?? []
  return wordsOf(behindDash, maxSiteWords + 1).length <= maxSiteWords ? beforeDash : beforeBar
}

const termsOfTitle = (title: string, language: string): ReadonlyArray<string> =>
  partsAndCompounds(wordsOf(headOf(title), maxTitleWords)).map((part) => stemOf(part, language))

/**
 * The score that a title adds to its document. It grows with the share of the query in the title and shrinks with other
 * words. Long queries gain little, because no title contains much of them.
 */
export const titleScore = ({ language, total, worths }: TitleQuery, title: string): number => {
  const terms = termsOfTitle(title, language)
  if (terms.length === 0) return 0
  const covered = new Set(terms).values().reduce((sum, term) => sum + (worths.get(term) ?? 0), 0)
  const matched = terms.filter((term) => worths.has(term)).length
  return titleShare * Math.min(total, covered) * (matched / terms.length)
}

/** Ranks documents in the requested language before equally good ones in other languages. */
export const languageFactor = (language: string | null, wanted: string): number => {
  if (language === null) return 0.95
  return language === wanted ? 1 : 0.9
}
