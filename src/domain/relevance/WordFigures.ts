import type { Slot } from "./QueryTerms.ts"

/** The number of documents that have each of the common terms of an index. */
export interface WordFigures {
  readonly documents: number
  /** An estimate: terms that are too rare to be listed are counted as the rarest of those that are. */
  readonly count: (term: string) => number
  readonly isListed: (term: string) => boolean
  /** Listed words whose first letter is this one. They are few thousand, so that a search may read them all. */
  readonly wordsBeginningWith: (letter: string) => ReadonlyArray<string>
}

const word = /^\p{L}{3,}$/u

/** From the terms that a share of the documents has, as the database's statistics list them. */
export const wordFigures = (
  documents: number,
  terms: ReadonlyArray<string>,
  shares: ReadonlyArray<number>
): WordFigures => {
  const counts = new Map<string, number>()
  const words = new Map<string, Array<string>>()
  let rarest = documents
  for (const [index, term] of terms.entries()) {
    const count = Math.max(1, Math.round((shares[index] ?? 0) * documents))
    rarest = Math.min(rarest, count)
    counts.set(term, count)
    if (!word.test(term)) continue
    const letter = term.slice(0, 1)
    const others = words.get(letter)
    if (others === undefined) words.set(letter, [term])
    else others.push(term)
  }
  const unlisted = Math.max(1, rarest)
  return {
    documents,
    count: (term) => counts.get(term) ?? unlisted,
    isListed: (term) => counts.has(term),
    wordsBeginningWith: (letter) => words.get(letter) ?? []
  }
}

/** Documents without the word that are added to the count: in an index of three, a word that two have is not common yet. */
const addedDocuments = 100

/** The worth of a term: the fewer documents have it, the more it says about those that do. */
export const rarity = ({ documents }: WordFigures, count: number): number =>
  Math.log(1 + Math.max(0, documents + addedDocuments - count + 0.5) / (count + 0.5))

/** The worth of a slot: that of the most common of the terms that may stand for it. */
export const slotWorth = (figures: WordFigures, { alternatives }: Slot): number =>
  rarity(
    figures,
    alternatives.reduce((most, { term }) => Math.max(most, figures.count(term)), 1)
  )
