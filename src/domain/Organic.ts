import { decodeHTML } from "entities"
import { getDomain } from "tldts"
import { parseAddress } from "./address.ts"
import type { OrganicResult } from "./OrganicResult.ts"
import { cutCodePoints, normalizeWhitespace } from "./text.ts"

/** A longer address, in UTF-16 units, is no result: cut it would lead elsewhere. */
export const maxUrlUnits = 2_048

/** Titles and snippets are cut to these many code points. */
export const maxTitleCodePoints = 300
export const maxSnippetCodePoints = 1_000

/** A row as an upstream gave it, after its adapter has checked that the three fields are strings. */
export interface UpstreamRow {
  readonly url: string
  readonly title: string
  readonly snippet: string
}

const trackingParameter = /^(?:utm_.*|gclid|fbclid)$/i

/**
 * The absolute http(s) URL that `text` is, if it is one. The URL parser would delete tabs and line breaks and replace
 * lone surrogates, but clients are given `text`, where they split headers and lines: such text is no URL.
 */
const parseWebUrl = (text: string): URL | undefined => {
  if (text.length > maxUrlUnits) return undefined
  if (!/^https?:\/\//i.test(text) || /\p{Cc}/u.test(text) || !text.isWellFormed()) return undefined
  const url = parseAddress(text)
  return url !== null && url.hostname !== "" ? url : undefined
}

/**
 * The part of a URL that is equal for the same result (R12): scheme and host in lower case and the default port
 * dropped (the URL parser does both, and writes an empty path as `/`), no fragment, no tracking parameters. The other
 * parameters are compared as written: re-encoding them would make different addresses equal.
 */
const identity = (url: URL): string => {
  const { host, pathname, protocol, search, username } = url
  const credentials = username === "" ? "" : `${username}:${url.password}@`
  return `${protocol}//${credentials}${host}${pathname}?${search === "" ? "" : withoutTracking(search)}`
}

const withoutTracking = (search: string): string =>
  search
    .slice(1)
    .split("&")
    .filter((parameter) => !trackingParameter.test(parameter.split("=", 1)[0] ?? ""))
    .join("&")

/**
 * Registrable domain of a hostname, or the hostname itself when it has none: an IP address, a single label, a public
 * suffix. As in the URL Standard, private suffixes count, because alice.github.io and bob.github.io are two publishers,
 * and IDNs stay in the ASCII form of the URL. IPv6 brackets and the root's dot are left out. Hostnames that URLs allow
 * and DNS does not still have the domain they end in.
 */
export const registrableDomain = (hostname: string): string => {
  const name = hostname.replace(/^\[|\]$|\.$/g, "")
  // With `extractHostname` off tldts takes the name as it is, valid in DNS or not.
  return getDomain(name, { allowPrivateDomains: true, extractHostname: false }) ?? name
}

/** Elements whose content is not text. */
const opaqueElement = /<(script|style|template|noscript|iframe|svg)\b[^>]*>[\s\S]*?<\/\1\s*>/gi

/**
 * Tags of HTML's own elements and comments. Any other `<word>` is left alone: in a title such as
 * "Array<string> explained" it is text, and dropping it would lose what the page is about. A `>` inside a quoted
 * attribute ends no tag; a quote that is never closed quotes nothing.
 */
const tag =
  /<!--[\s\S]*?-->|<!doctype[^>]*>|<\/?(?:a|abbr|acronym|address|article|aside|audio|b|base|bdi|bdo|big|blockquote|body|br|button|canvas|caption|center|cite|code|col|colgroup|data|datalist|dd|del|details|dfn|dialog|dir|div|dl|dt|em|embed|fieldset|figcaption|figure|font|footer|form|frame|frameset|h[1-6]|head|header|hgroup|hr|html|i|iframe|img|input|ins|kbd|label|legend|li|link|main|map|mark|marquee|menu|meta|meter|nav|nobr|noscript|object|ol|optgroup|option|output|p|param|picture|pre|progress|q|rp|rt|ruby|s|samp|script|search|section|select|slot|small|source|span|strike|strong|style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|time|title|tr|track|tt|u|ul|var|video|wbr)(?:\s(?:[^<>"']|"[^"]*"|'[^']*')*|\s[^<>]*)?\/?>/gi

/** Elements that end a word where they stand; the others (`<b>`, `<em>`, …) may stand inside one. */
const wordBreak = /^<\/?(?:br|p|div|li|ul|ol|td|th|tr|table|h[1-6]|dd|dt|dl|hr|section|article|blockquote|pre)\b/i

/** Upstream text beyond this many UTF-16 units is cut before it is read: the patterns above may be quadratic. */
const maxTextUnits = 5_000

/** Text as a person reads it: no tags, entities decoded once, whitespace collapsed (R12). */
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

/**
 * The organic results of an answer (R12): rows without an absolute http(s) URL dropped, duplicates dropped with the
 * first one kept as the engine gave it, cut to `num`, then numbered.
 */
export const rank = (rows: Iterable<UpstreamRow>, num: number): ReadonlyArray<OrganicResult> => {
  const seen = new Set<string>()
  const results: Array<OrganicResult> = []
  for (const row of rows) {
    if (results.length === num) break
    const url = parseWebUrl(row.url)
    if (url === undefined) continue
    const key = identity(url)
    if (seen.has(key)) continue
    seen.add(key)
    results.push({
      position: results.length + 1,
      title: limited(plainText(row.title), maxTitleCodePoints),
      url: row.url,
      domain: registrableDomain(url.hostname),
      snippet: limited(plainText(row.snippet), maxSnippetCodePoints)
    })
  }
  return results
}
