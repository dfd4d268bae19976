import { Parser } from "htmlparser2"
import { pageOnHost } from "../../../domain/pages/links.ts"
import { productToken } from "../../../domain/pages/robots.ts"
import { readDirectives } from "../../../domain/pages/robotsDirectives.ts"

const maxLinks = 2_000

/** The names of meta elements with directives for this service. */
const crawlerNames: ReadonlySet<string> = new Set(["robots", productToken])

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

export interface Markup {
  /** Links to pages of the same host. Empty if the page asks not to be followed. */
  readonly links: ReadonlyArray<string>
  readonly isIndexed: boolean
  /** The address that the page states as its own, if it is on the same host. */
  readonly canonical: string | undefined
}

/** Without markup, as in a PDF, the header decides alone. */
export const withoutMarkup = (robotsTags: ReadonlyArray<string>): Markup => ({
  links: [],
  isIndexed: readDirectives(robotsTags).isIndexed,
  canonical: undefined
})

const hasWord = (list: string | undefined, word: string): boolean =>
  (list ?? "").toLowerCase().split(/\s+/).includes(word)

/** Reads what a page says to crawlers. `robotsTags` are the lines of its `X-Robots-Tag` header. */
export const readMarkup = (bytes: Uint8Array, url: string, robotsTags: ReadonlyArray<string>): Markup => {
  const { host } = new URL(url)
  const links = new Set<string>()
  const lists = [...robotsTags]
  let base = new URL(url)
  let canonical: string | undefined
  const addressIn = (href: string | undefined): string | undefined => {
    const address = href === undefined ? undefined : pageOnHost(href, base)
    return address !== undefined && new URL(address).host === host ? address : undefined
  }
  const parser = new Parser({
    onopentag: (name, { content = "", href, name: of = "", rel }) => {
      if (name === "base" && href !== undefined) base = URL.parse(href, base.href) ?? base
      if (name === "meta" && crawlerNames.has(of.toLowerCase())) lists.push(content)
      if (name === "link" && hasWord(rel, "canonical")) canonical ??= addressIn(href)
      if ((name !== "a" && name !== "area") || links.size >= maxLinks || hasWord(rel, "nofollow")) return
      const link = addressIn(href)
      if (link !== undefined) links.add(link)
    }
  })
  parser.end(decode(bytes))
  const { isFollowed, isIndexed } = readDirectives(lists)
  return { links: isFollowed ? [...links] : [], isIndexed, canonical }
}

export interface Sitemap {
  readonly isIndex: boolean
  readonly locations: ReadonlyArray<string>
  /** False if the file ends early or has more locations than the protocol allows. */
  readonly isWhole: boolean
}

/** The protocol's limit for one sitemap. */
const maxLocations = 50_000

/** The end of the root element, without which the file was cut. */
const rootEnd = /<\/(?:[\w-]+:)?(?:urlset|sitemapindex)\s*>|<(?:[\w-]+:)?(?:urlset|sitemapindex)(?:\s[^<>]*)?\/>/

/** Undefined for a document that is not sitemap XML. */
export const readSitemap = (bytes: Uint8Array): Sitemap | undefined => {
  const xml = decode(bytes)
  let root: string | undefined
  let text: string | undefined
  const locations: Array<string> = []
  const parser = new Parser(
    {
      onopentag: (name) => {
        root ??= name.replace(/^.*:/, "")
        if (name.replace(/^.*:/, "") === "loc") text = ""
      },
      ontext: (data) => {
        if (text !== undefined) text += data
      },
      onclosetag: () => {
        if (text !== undefined && locations.length <= maxLocations) locations.push(text.trim())
        text = undefined
      }
    },
    { xmlMode: true }
  )
  parser.end(xml)
  if (root !== "urlset" && root !== "sitemapindex") return undefined
  return {
    isIndex: root === "sitemapindex",
    locations: locations.slice(0, maxLocations),
    isWhole: rootEnd.test(xml) && locations.length <= maxLocations
  }
}

export const sitemapsIn = (robots: Uint8Array): ReadonlyArray<string> =>
  decode(robots)
    .split(/\r\n|\r|\n/)
    .flatMap((line) => /^\s*sitemap\s*:\s*(\S+)/i.exec(line)?.[1] ?? [])
