import { decodeHTML } from "entities"
import { getDomain } from "tldts"
import { parseAddress } from "../net/address.ts"
import { cutCodePoints, normalizeWhitespace } from "../text.ts"
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
  /** As `readPublished` returns it. */
  readonly published?: string | undefined
}

const trackingParameter = /^(?:utm_.*|gclid|fbclid)$/i

/**
 * Parses an absolute http(s) URL. Rejects control characters and lone surrogates: the URL parser would remove them, but
 * clients receive the original text, in which they could split headers and lines.
 */
const parseWebUrl = (text: string): URL | undefined => {
  if (text.length > maxUrlUnits) return undefined
  if (!/^https?:\/\//i.test(text) || /\p{Cc}/u.test(text) || !text.isWellFormed()) return undefined
  const url = parseAddress(text)
  return url !== null && url.hostname !== "" ? url : undefined
}

/**
 * The key for de-duplication (R12). The URL parser lower-cases scheme and host and drops the default port; this drops
 * the fragment and tracking parameters. Other parameters are compared as written, because re-encoding would make
 * different URLs equal.
 */
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

/**
 * The registrable domain of a hostname, or the hostname if it has no public suffix or is one itself. Private suffixes
 * count, as in the URL Standard: alice.github.io and bob.github.io are different publishers. IDNs stay in ASCII form.
 */
export const registrableDomain = (hostname: string): string => {
  const name = hostname.replace(/^\[|\]$|\.$/g, "")
  // Without `extractHostname`, tldts accepts names that are not valid in DNS.
  return getDomain(name, { allowPrivateDomains: true, extractHostname: false }) ?? name
}

const opaqueElement = /<(script|style|template|noscript|iframe|svg)\b[^>]*>[\s\S]*?<\/\1\s*>/gi

/**
 * Tags of HTML elements, and comments. Any other `<word>` is kept as text, as in "Array<string> explained". A `>`
 * inside a quoted attribute does not end a tag; an unclosed quote is ignored.
 */
const tag =
  /<!--[\s\S]*?-->|<!doctype[^>]*>|<\/?(?:a|abbr|acronym|address|article|aside|audio|b|base|bdi|bdo|big|blockquote|body|br|button|canvas|caption|center|cite|code|col|colgroup|data|datalist|dd|del|details|dfn|dialog|dir|div|dl|dt|em|embed|fieldset|figcaption|figure|font|footer|form|frame|frameset|h[1-6]|head|header|hgroup|hr|html|i|iframe|img|input|ins|kbd|label|legend|li|link|main|map|mark|marquee|menu|meta|meter|nav|nobr|noscript|object|ol|optgroup|option|output|p|param|picture|pre|progress|q|rp|rt|ruby|s|samp|script|search|section|select|slot|small|source|span|strike|strong|style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|time|title|tr|track|tt|u|ul|var|video|wbr)(?:\s(?:[^<>"']|"[^"]*"|'[^']*')*|\s[^<>]*)?\/?>/gi

/** Elements that separate words; others, such as `<b>`, can occur inside a word. */
const wordBreak = /^<\/?(?:br|p|div|li|ul|ol|td|th|tr|table|h[1-6]|dd|dt|dl|hr|section|article|blockquote|pre)\b/i

/** In UTF-16 units. Limits the input of the patterns above, whose time may be quadratic. */
const maxTextUnits = 5_000

/** Converts HTML to plain text: removes tags, decodes entities once and collapses whitespace (R12). */
export const plainText = (html: string): string => {
  const bounded = html.slice(0, maxTextUnits).toWellFormed()
  const text = bounded.includes("<")
    ? bounded.replace(opaqueElement, " ").replace(tag, (match) => (wordBreak.test(match) ? " " : ""))
    : bounded
  const decoded = text.includes("&") ? decodeHTML(text) : text
  return normalizeWhitespace(decoded.includes("\0") ? decoded.replaceAll("\0", " ") : decoded)
}

const limited = (text: string, maxCodePoints: number): string =>
  text.length <= maxCodePoints ? text : cutCodePoints(text, maxCodePoints).trimEnd()

/** Decides which of an engine's rows a search may return. */
export type Admits = (url: URL, row: UpstreamRow) => boolean

/**
 * Ranks results (R12): drops rows without a web URL, rows that the search does not admit and later duplicates, cuts to
 * `num`, and numbers them.
 */
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
    const result = {
      position: results.length + 1,
      title: limited(plainText(row.title), maxTitleCodePoints),
      url: row.url,
      domain: registrableDomain(url.hostname),
      snippet: limited(plainText(row.snippet), maxSnippetCodePoints)
    }
    results.push(row.published === undefined ? result : { ...result, published: row.published })
  }
  return results
}
