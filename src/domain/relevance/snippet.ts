import { termsOf, wordsOf } from "./terms.ts"

/** A snippet is about this long, in UTF-16 units. */
const snippetUnits = 200

const ellipsis = "…"

/** Words of a token that are read. */
const maxWordsOfToken = 4

/** The whole words of a text with their places. */
const tokenPattern = /\S+/g

interface Token {
  readonly start: number
  readonly end: number
  readonly worth: number
}

/** The worth of a piece of text without spaces, such as `Promise.any()`: that of the most worthy of its terms. */
export type WorthOfToken = (token: string) => number

/**
 * From the worth of terms. What a token is worth is remembered, because texts repeat their words and reading a word takes
 * the most time: for the texts of one page of results, not longer.
 */
export const tokenWorth = (worthOf: (term: string) => number): WorthOfToken => {
  const known = new Map<string, number>()
  const read = (token: string) =>
    termsOf(wordsOf(token, maxWordsOfToken)).reduce((most, term) => Math.max(most, worthOf(term)), 0)
  return (token) => {
    const before = known.get(token)
    if (before !== undefined) return before
    const worth = read(token)
    known.set(token, worth)
    return worth
  }
}

/**
 * The piece of a text that has the most of the wanted terms, cut between words. A text that is short enough is answered
 * as it is.
 */
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

/** Of the windows that are worth the most, one in the middle, so that words stand on both sides of what was looked for. */
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
    // Without any of the words, the text begins where it begins.
    if (worth === most && (worth > 0 || best.length === 0)) best.push({ from, to })
    worth -= own
  }
  return best[Math.floor(best.length / 2)] ?? { from: 0, to: 0 }
}
