import type { Alternative, QueryTerms, Slot } from "./QueryTerms.ts"
import type { WordFigures } from "./WordFigures.ts"

/** A shorter beginning of a word is the beginning of too many. */
const minPrefixUnits = 3
const maxAlternatives = 4

/** Shorter words are one letter away from too many others. */
const minMisspeltUnits = 4
const maxSlots = 3

const weightOf = { prefix: 0.6, oneMistake: 0.7, twoMistakes: 0.5 }

const mistakesAllowed = (length: number): number => {
  if (length < minMisspeltUnits) return 0
  return length < 7 ? 1 : 2
}

/**
 * The letters that have to be inserted, removed, replaced or swapped to make one word of the other; `limit + 1` where
 * they are more than the limit.
 */
export const mistakesBetween = (a: string, b: string, limit: number): number => {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let older: Array<number> = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    let least = i
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (older[j - 2] ?? 0) + 1)
      current.push(cost)
      least = Math.min(least, cost)
    }
    if (least > limit) return limit + 1
    older = previous
    previous = current
  }
  return Math.min(previous[b.length] ?? 0, limit + 1)
}

const misspelt = (term: string, figures: WordFigures): ReadonlyArray<Alternative> => {
  const allowed = mistakesAllowed(term.length)
  if (allowed === 0) return []
  // People seldom mistake the first letter, except by swapping it with the second.
  const words = [...new Set([term.slice(0, 1), term.slice(1, 2)])].flatMap(figures.wordsBeginningWith)
  return words
    .map((word) => ({ word, mistakes: mistakesBetween(term, word, allowed) }))
    .filter(({ mistakes }) => mistakes <= allowed)
    .sort((a, b) => a.mistakes - b.mistakes || figures.count(b.word) - figures.count(a.word))
    .slice(0, maxAlternatives)
    .map(({ mistakes, word }) => ({
      term: word,
      weight: mistakes === 1 ? weightOf.oneMistake : weightOf.twoMistakes,
      prefix: false
    }))
}

const completions = (term: string, figures: WordFigures): ReadonlyArray<Alternative> => {
  if (term.length < minPrefixUnits) return []
  const words = figures
    .wordsBeginningWith(term.slice(0, 1))
    .filter((word) => word.startsWith(term))
    .sort((a, b) => figures.count(b) - figures.count(a))
    .slice(0, maxAlternatives)
  if (words.length === 0) return [{ term, weight: weightOf.prefix, prefix: true }]
  return words.map((word) => ({ term: word, weight: weightOf.prefix, prefix: false }))
}

/**
 * The query with more meanings for words that no document has: those that are spelt like it, and for the last word those
 * that begin with it. Undefined where there is nothing to add.
 */
export const widen = (
  query: QueryTerms,
  figures: WordFigures,
  isHeld: (term: string) => boolean
): QueryTerms | undefined => {
  let widened = 0
  const last = query.slots.length - 1
  const slots = query.slots.map((slot, index): Slot => {
    const [only] = slot.alternatives
    if (!slot.required || slot.alternatives.length > 1 || only === undefined) return slot
    if (widened === maxSlots || isHeld(only.term)) return slot
    const more = [...misspelt(only.term, figures), ...(index === last ? completions(only.term, figures) : [])]
    if (more.length === 0) return slot
    widened++
    return { ...slot, alternatives: [...slot.alternatives, ...more] }
  })
  if (widened === 0) return undefined
  const respelt = (name: string) => (figures.isListed(name) ? name : (misspelt(name, figures)[0]?.term ?? name))
  return { ...query, slots, compounds: query.compounds.map(respelt) }
}
