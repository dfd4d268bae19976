import { decodeHTMLStrict } from "entities"
import { getDomain } from "tldts"
import { parseAddress } from "../net/address.ts"
import { cutCodePoints, isRegular, normalizeWhitespace } from "../text.ts"
import type { OrganicResult } from "./OrganicResult.ts"

/** In UTF-16 units. Longer URLs are dropped, because a shortened URL would lead elsewhere. */
export const maxUrlUnits = 2_048

export const maxTitleCodePoints = 300
export const maxSnippetCodePoints = 1_000

/** The adapter has checked that all fields are strings. */
export interface UpstreamRow {
  readonly url: string
  readonly title: string
  readonly snippet: string
  readonly published?: string | undefined
  /** True if title and snippet are HTML; otherwise they are plain text. */
  readonly isHtml?: true
}

const trackingParameter = /^(?:utm_.*|gclid|fbclid)$/i

/** Rejects control characters: `URL` drops them, but in the original text they could split headers and lines. */
const parseWebUrl = (text: string): URL | undefined => {
  if (text.length > maxUrlUnits) return undefined
  if (!/^https?:\/\//i.test(text) || /\p{Cc}/u.test(text) || !text.isWellFormed()) return undefined
  const url = parseAddress(text)
  return url !== null && url.hostname !== "" ? url : undefined
}

/** The key for duplicates (R12). Does not re-encode parameters, because that would make different URLs equal. */
const identity = (url: URL): string => {
  const { host, pathname, protocol, search, username } = url
  const credentials = username === "" ? "" : `${username}:${url.password}@`
  return `${protocol}//${credentials}${host}${pathname}?${search === "" ? "" : withoutTracking(search)}`
}

/** The key of a result for comparison with other lists; undefined if the address is not a web address. */
export const identityOf = (address: string): string | undefined => {
  const url = parseWebUrl(address)
  return url === undefined ? undefined : identity(url)
}

const withoutTracking = (search: string): string =>
  search
    .slice(1)
    .split("&")
    .filter((parameter) => !trackingParameter.test(parameter.split("=", 1)[0] ?? ""))
    .join("&")

/** Private suffixes count: alice.github.io and bob.github.io are different publishers. IDNs stay in ASCII form. */
export const registrableDomain = (hostname: string): string => {
  const name = hostname.replace(/^\[|\]$|\.$/g, "")
  // Without `extractHostname`, tldts accepts names that are not valid in DNS.
  return getDomain(name, { allowPrivateDomains: true, extractHostname: false }) ?? name
}

const opaqueElement = /<(script|style|template|noscript|iframe|svg)\b[^>]*>[\s\S]*?<\/\1\s*>/gi

/** Keeps any other `<word>`, as in "Array<string> explained". A `>` in a quoted attribute does not end a tag. */
const tag =
  /<!--[\s\S]*?-->|<!doctype[^>]*>|<\/?(?:a|abbr|acronym|address|article|aside|audio|b|base|bdi|bdo|big|blockquote|body|br|button|canvas|caption|center|cite|code|col|colgroup|data|datalist|dd|del|details|dfn|dialog|dir|div|dl|dt|em|embed|fieldset|figcaption|figure|font|footer|form|frame|frameset|h[1-6]|head|header|hgroup|hr|html|i|iframe|img|input|ins|kbd|label|legend|li|link|main|map|mark|marquee|menu|meta|meter|nav|nobr|noscript|object|ol|optgroup|option|output|p|param|picture|pre|progress|q|rp|rt|ruby|s|samp|script|search|section|select|slot|small|source|span|strike|strong|style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|time|title|tr|track|tt|u|ul|var|video|wbr)(?:\s(?:[^<>"']|"[^"]*"|'[^']*')*|\s[^<>]*)?\/?>/gi

/** Elements that separate words; others, such as `<b>`, can occur inside a word. */
const wordBreak = /^<\/?(?:br|p|div|li|ul|ol|td|th|tr|table|h[1-6]|dd|dt|dl|hr|section|article|blockquote|pre)\b/i

/** Limits the input of the patterns above, whose time may be quadratic. */
const maxTextUnits = 5_000

/** Tags with which engines highlight words in text that is otherwise plain. */
const highlightTag = /<(\/?)(b|strong|em|i|mark)>/gi

/** The usual highlight: words without another tag between its tags. Takes half the time of `withoutPairs`. */
const highlight = /<(b|strong|em|i|mark)>([^<]*)<\/\1>/gi

/** Removes pairs of highlight tags. A tag without its counterpart, as in "Set<b>", is text. */
const withoutHighlights = (text: string): string => {
  const plain = text.replace(highlight, "$2")
  // The removal may have put a new tag together, as in "<<b></b>b>", so other text is read again as it was.
  return plain.includes("<") ? withoutPairs(text) : plain
}

const withoutPairs = (text: string): string => {
  const open: Array<{ readonly name: string; readonly match: RegExpExecArray }> = []
  const paired = new Set<number>()
  for (const match of text.matchAll(highlightTag)) {
    const [, slash = "", name = ""] = match
    const tagName = name.toLowerCase()
    if (slash === "") {
      open.push({ name: tagName, match })
      continue
    }
    const start = open.findLastIndex((each) => each.name === tagName)
    const [opening] = start === -1 ? [] : open.splice(start)
    if (opening !== undefined) paired.add(opening.match.index).add(match.index)
  }
  return text.replace(highlightTag, (tag, _slash, _name, index: number) => (paired.has(index) ? "" : tag))
}

const withoutTags = (html: string): string =>
  html.replace(opaqueElement, " ").replace(tag, (match) => (wordBreak.test(match) ? " " : ""))

/** Controls other than tabs and line breaks, which are whitespace. A terminal would execute some of them. */
const control = /[^\P{Cc}\t\n\v\f\r\u0085]/gu

const readText = (written: string, stripTags: (text: string) => string): string => {
  const bounded = written.slice(0, maxTextUnits)
  const text = bounded.includes("<") ? stripTags(bounded) : bounded
  // Strict: without its semicolon, "&copy" is the beginning of a parameter.
  const decoded = text.includes("&") ? decodeHTMLStrict(text) : text
  return isRegular(decoded) ? decoded : normalizeWhitespace(decoded.toWellFormed().replace(control, ""))
}

/** Removes tags, decodes entities once, removes controls and collapses whitespace (R12). */
export const plainText = (html: string): string => readText(html, withoutTags)

/** The same for text that is not HTML: other tags than pairs of highlight tags belong to the text (R12). */
export const shownText = (text: string): string => readText(text, withoutHighlights)

const limited = (text: string, maxCodePoints: number): string =>
  text.length <= maxCodePoints ? text : cutCodePoints(text, maxCodePoints).trimEnd()

export type Admits = (url: URL, row: UpstreamRow) => boolean

export const rank = (rows: Iterable<UpstreamRow>, num: number, admits?: Admits): ReadonlyArray<OrganicResult> => {
  const seen = new Set<string>()
  const results: Array<OrganicResult> = []
  for (const row of rows) {
    if (results.length === num) break
    const url = parseWebUrl(row.url)
    if (url === undefined || admits?.(url, row) === false) continue
    const key = identity(url)
    if (seen.has(key)) continue
    seen.add(key)
    const read = row.isHtml === true ? plainText : shownText
    const result = {
      position: results.length + 1,
      title: limited(read(row.title), maxTitleCodePoints),
      url: row.url,
      domain: registrableDomain(url.hostname),
      snippet: limited(read(row.snippet), maxSnippetCodePoints)
    }
    results.push(row.published === undefined ? result : { ...result, published: row.published })
  }
  return results
}
