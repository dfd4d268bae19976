/** Unicode White_Space, U+200B and U+FEFF (R10). JavaScript's `\s` lacks U+0085 and U+200B. */
const whitespace = /[\p{White_Space}\u200B\uFEFF]+/gu

/** What normalising would change. Nearly no text has any, and replacing each space by itself is what would cost. */
const uneven = /^ | $| {2}|[[\p{White_Space}\u200B\uFEFF]--[ ]]/v

/** Trimmed, with every run of whitespace collapsed to one space. */
export const normalizeWhitespace = (text: string): string =>
  uneven.test(text) ? text.replace(whitespace, " ").trim() : text

/** Length in Unicode code points. */
export const codePointLength = (text: string): number => {
  let length = 0
  for (const _ of text) length++
  return length
}

/** The first `count` code points of `text`. */
export const cutCodePoints = (text: string, count: number): string => {
  if (text.length <= count) return text
  let end = 0
  for (let cut = 0; cut < count && end < text.length; cut++) end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1
  return text.slice(0, end)
}

/** Postgres and the engines cannot carry a NUL or a lone surrogate (R10). */
export const isCarriable = (text: string): boolean => text.isWellFormed() && !text.includes("\0")
