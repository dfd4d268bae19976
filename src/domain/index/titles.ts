import { partsAndCompounds } from "./DocumentTerms.ts"
import { stemOf } from "./languages.ts"
import { wordsOf } from "./words.ts"

export interface TitleQuery {
  readonly worths: ReadonlyMap<string, number>
  readonly total: number
  readonly language: string
}

const titleShare = 0.5

const maxTitleWords = 60

/** A longer text after a dash belongs to the title: "git-add - Add file contents". */
const maxSiteWords = 3

/** Removes site and section: "CSS grid layout - CSS | MDN" becomes "CSS grid layout". */
const headOf = (title: string): string => {
  const [, beforeBar = title] = /^(.*\S)\s+\|\s+.*$/s.exec(title) ?? []
  const [, beforeDash = beforeBar, behindDash = ""] = /^(.*\S)\s+[·•–—-]\s+(.*)$/s.exec(beforeBar) ?? []
  return wordsOf(behindDash, maxSiteWords + 1).length <= maxSiteWords ? beforeDash : beforeBar
}

const termsOfTitle = (title: string, language: string): ReadonlyArray<string> =>
  partsAndCompounds(wordsOf(headOf(title), maxTitleWords)).map((part) => stemOf(part, language))

/** Grows with the share of the query in the title, and shrinks with other words. Long queries gain little. */
export const titleScore = ({ language, total, worths }: TitleQuery, title: string): number => {
  const terms = termsOfTitle(title, language)
  if (terms.length === 0) return 0
  const covered = new Set(terms).values().reduce((sum, term) => sum + (worths.get(term) ?? 0), 0)
  const matched = terms.filter((term) => worths.has(term)).length
  return titleShare * Math.min(total, covered) * (matched / terms.length)
}

export const languageFactor = (language: string | null, wanted: string): number => {
  if (language === null) return 0.95
  return language === wanted ? 1 : 0.9
}
