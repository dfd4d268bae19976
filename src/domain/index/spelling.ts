import { mistakesBetween } from "../spelling.ts"

/** Shorter words have too many neighbors. */
const minUnits = 4

const maxMeant = 4

const weightOf = { oneMistake: 0.7, twoMistakes: 0.5 }

export const mistakesAllowed = (word: string): number => {
  if (word.length < minUnits) return 0
  return word.length < 7 ? 1 : 2
}

export interface KnownTerm {
  readonly term: string
  readonly documents: number
}

export const meantBy = (
  term: string,
  known: ReadonlyArray<KnownTerm>
): ReadonlyArray<{ readonly term: string; readonly weight: number }> => {
  const allowed = mistakesAllowed(term)
  return known
    .map((each) => ({ ...each, mistakes: mistakesBetween(term, each.term, allowed) }))
    .filter(({ mistakes }) => mistakes <= allowed)
    .sort((a, b) => a.mistakes - b.mistakes || b.documents - a.documents)
    .slice(0, maxMeant)
    .map(({ mistakes, term }) => ({ term, weight: mistakes === 1 ? weightOf.oneMistake : weightOf.twoMistakes }))
}
