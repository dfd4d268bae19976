/** Unicode White_Space, U+200B and U+FEFF (R10). JavaScript's `\s` lacks U+0085 and U+200B. */
const whitespace = /[\p{White_Space}\u200B\uFEFF]+/gu

/** Written out, because a pattern with `\p{…}` takes three times as long. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for them.
const irregular = /^ | $| {2}|[\0-\x1f\x7f-\xa0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff\ud800-\udfff]/

/**
 * True without controls, surrogates, and whitespace other than single spaces: most text, which needs no normalization.
 * Testing it is faster than replacing every space.
 */
export const isRegular = (text: string): boolean => !irregular.test(text)

export const normalizeWhitespace = (text: string): string =>
  isRegular(text) ? text : text.replace(whitespace, " ").trim()

const isHighSurrogate = (unit: number): boolean => (unit & 0xfc00) === 0xd800
const isLowSurrogate = (unit: number): boolean => (unit & 0xfc00) === 0xdc00

/** An iterator takes ten times as long, which stalls the event loop on pages of several megabytes. */
export const codePointLength = (text: string): number => {
  let length = text.length
  const first = text.search(/[\ud800-\udbff]/)
  if (first === -1) return length
  for (let at = first + 1; at < text.length; at++) {
    if (isLowSurrogate(text.charCodeAt(at)) && isHighSurrogate(text.charCodeAt(at - 1))) length--
  }
  return length
}

export const cutCodePoints = (text: string, count: number): string => {
  if (text.length <= count) return text
  const first = text.search(/[\ud800-\udbff]/)
  if (first === -1 || first >= count) return text.slice(0, count)
  let end = first
  for (let cut = first; cut < count && end < text.length; cut++) end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1
  return text.slice(0, end)
}

/** Cuts to `maxUnits` UTF-16 units including an ellipsis, without splitting a character. */
export const abbreviate = (text: string, maxUnits: number): string =>
  text.length <= maxUnits ? text : `${text.slice(0, maxUnits - 1).replace(/\p{Cs}$/u, "")}…`

/** The whole text if it has no `separator`. */
export const partBefore = (text: string, separator: string): string => text.split(separator, 1).join("")

const words = new Intl.Segmenter("und", { granularity: "word" })

const lookAheadUnits = 64

export const cutAtWord = (text: string, count: number): string => {
  const cut = cutCodePoints(text, count)
  if (cut.length === text.length) return text
  const start = words.segment(text.slice(0, cut.length + lookAheadUnits)).containing(cut.length)?.index ?? 0
  return start === 0 ? cut : cut.slice(0, start).trimEnd()
}

/** False for NUL and lone surrogates, which Postgres and search engines cannot transmit (R10). */
export const isCarriable = (text: string): boolean => text.isWellFormed() && !text.includes("\0")

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`

const waitUnits = [
  ["hour", 3600],
  ["minute", 60],
  ["second", 1]
] as const

/** Rounded up, in the largest unit of which there are at least two: `90 seconds`, `15 minutes`, `24 hours`. */
export const waitText = (seconds: number): string => {
  const [unit, length] = waitUnits.find(([, unitSeconds]) => seconds >= 2 * unitSeconds) ?? ["second", 1]
  return plural(Math.ceil(seconds / length), unit)
}
