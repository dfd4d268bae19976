import { partsAndCompounds } from "./DocumentTerms.ts"
import { formsOf } from "./languages.ts"
import { wordsOf } from "./words.ts"

const snippetUnits = 200

const ellipsis = "…"

const maxWordsOfToken = 4

const tokenPattern = /\S+/g

interface Token {
  readonly start: number
  readonly end: number
  readonly worth: number
}

export type WorthOfToken = (token: string) => number

/** Caches weights for one page of results: texts repeat their words, and splitting them is expensive. */
export const tokenWorth = (worthOf: (term: string) => number, language: string): WorthOfToken => {
  const known = new Map<string, number>()
  const read = (token: string) =>
    partsAndCompounds(wordsOf(token, maxWordsOfToken))
      .flatMap((part) => formsOf(part, language))
      .reduce((most, term) => Math.max(most, worthOf(term)), 0)
  return (token) => {
    const before = known.get(token)
    if (before !== undefined) return before
    const worth = read(token)
    known.set(token, worth)
    return worth
  }
}

export const snippetOf = (text: string, worthOf: WorthOfToken): string => {
  if (text.length <= snippetUnits) return text
  const tokens = Array.from(text.matchAll(tokenPattern), (match): Token => {
    const [token] = match
    return { start: match.index, end: match.index + token.length, worth: worthOf(token) }
  })
  const { from, to } = bestWindow(tokens)
  const first = tokens[from]
  const last = tokens[to]
  if (first === undefined || last === undefined) return text.slice(0, snippetUnits)
  const piece = text.slice(first.start, Math.min(last.end, first.start + snippetUnits))
  return `${from === 0 ? "" : ellipsis}${piece}${to === tokens.length - 1 ? "" : ellipsis}`
}

/** Picks the middle one of the best windows, so that the match has context on both sides. */
const bestWindow = (tokens: ReadonlyArray<Token>): { readonly from: number; readonly to: number } => {
  let best: Array<{ readonly from: number; readonly to: number }> = []
  let most = -1
  let to = -1
  let worth = 0
  for (const [from, { start, worth: own }] of tokens.entries()) {
    while (to + 1 < tokens.length && (to < from || (tokens[to + 1]?.end ?? 0) - start <= snippetUnits)) {
      to++
      worth += tokens[to]?.worth ?? 0
    }
    if (worth > most) {
      most = worth
      best = []
    }
    // Without a match, the snippet starts at the beginning.
    if (worth === most && (worth > 0 || best.length === 0)) best.push({ from, to })
    worth -= own
  }
  return best[Math.floor(best.length / 2)] ?? { from: 0, to: 0 }
}
