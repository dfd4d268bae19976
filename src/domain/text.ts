/** Unicode White_Space, U+200B and U+FEFF (R10). JavaScript's `\s` lacks U+0085 and U+200B. */
const whitespace = /[\p{White_Space}\u200B\uFEFF]+/gu

/** Text that normalizing would change. Few queries match, and a test is cheaper than replacing each space by itself. */
const irregularWhitespace = /^ | $| {2}|[[\p{White_Space}\u200B\uFEFF]--[ ]]/v

/** Trims text and collapses every run of whitespace to one space. */
export const normalizeWhitespace = (text: string): string =>
  irregularWhitespace.test(text) ? text.replace(whitespace, " ").trim() : text

/** The length in Unicode code points. */
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

/** `text` in at most `maxUnits` UTF-16 units. A text that is cut ends with an ellipsis, and is not cut inside a character. */
export const abbreviate = (text: string, maxUnits: number): string =>
  text.length <= maxUnits ? text : `${text.slice(0, maxUnits - 1).replace(/\p{Cs}$/u, "")}…`

/** Finds the words of a text, also where no spaces separate them. */
const words = new Intl.Segmenter("und", { granularity: "word" })

/** Text behind the cut that the search for a word's beginning reads. Longer words are cut where the text ends. */
const lookAheadUnits = 64

/** The first `count` code points of `text` at most, cut where a word ends; a word that is longer than that is cut inside. */
export const cutAtWord = (text: string, count: number): string => {
  const cut = cutCodePoints(text, count)
  if (cut.length === text.length) return text
  const start = words.segment(text.slice(0, cut.length + lookAheadUnits)).containing(cut.length)?.index ?? 0
  return start === 0 ? cut : cut.slice(0, start).trimEnd()
}

/** Checks for text without NUL and lone surrogates, which Postgres and the engines cannot transmit (R10). */
export const isCarriable = (text: string): boolean => text.isWellFormed() && !text.includes("\0")

const waitUnits = [
  ["hour", 3600],
  ["minute", 60],
  ["second", 1]
] as const

/** A wait for people, rounded up to its largest unit that is there twice: `90 seconds`, `15 minutes`, `24 hours`. */
export const waitText = (seconds: number): string => {
  const [unit, length] = waitUnits.find(([, it]) => seconds >= 2 * it) ?? ["second", 1]
  const count = Math.ceil(seconds / length)
  return `${count} ${unit}${count === 1 ? "" : "s"}`
}
