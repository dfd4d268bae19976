import { wordsOf } from "./terms.ts"

/** A snippet is about this long, in UTF-16 units. */
const snippetUnits = 200

const ellipsis = "…"

/** The whole words of a text with their places. */
const tokenPattern = /\S+/g

interface Token {
  readonly start: number
  readonly end: number
  readonly worth: number
}

/**
 * The piece of a text that has the most of the wanted terms, cut between words. A text that is short enough is answered
 * as it is.
 */
export const snippetOf = (text: string, worthOf: (term: string) => number): string => {
  if (text.length <= snippetUnits) return text
  const tokens = Array.from(text.matchAll(tokenPattern), (match): Token => {
    const [word] = match
    const terms = wordsOf(word, 4).flatMap(({ compounds, parts }) => [...parts, ...compounds])
    return {
      start: match.index,
      end: match.index + word.length,
      worth: terms.reduce((most, term) => Math.max(most, worthOf(term)), 0)
    }
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
