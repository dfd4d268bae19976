import { Parser } from "htmlparser2"
import { pageOnHost } from "../../../domain/pages/links.ts"

const maxLinks = 2_000

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

/** The directives of a robots meta element. Empty for other elements. */
const robotsIn = (name: string, { content = "", name: of }: Readonly<Record<string, string>>): string =>
  name === "meta" && of?.toLowerCase() === "robots" ? content : ""

/** None if the page asks not to be followed. */
export const linksIn = (bytes: Uint8Array, url: string): ReadonlyArray<string> => {
  const links = new Set<string>()
  let base = new URL(url)
  let isFollowed = true
  const parser = new Parser({
    onopentag: (name, attributes) => {
      if (name === "base" && attributes.href !== undefined) base = URL.parse(attributes.href, base.href) ?? base
      if (/nofollow|none/i.test(robotsIn(name, attributes))) isFollowed = false
      if ((name !== "a" && name !== "area") || attributes.href === undefined || links.size >= maxLinks) return
      if (/\bnofollow\b/i.test(attributes.rel ?? "")) return
      const link = pageOnHost(attributes.href, base)
      if (link !== undefined && new URL(link).host === new URL(url).host) links.add(link)
    }
  })
  parser.end(decode(bytes))
  return isFollowed ? [...links] : []
}

export const isNotIndexed = (bytes: Uint8Array): boolean => {
  let isHidden = false
  const parser = new Parser({
    onopentag: (name, attributes) => {
      if (/noindex|none/i.test(robotsIn(name, attributes))) isHidden = true
    }
  })
  parser.end(decode(bytes))
  return isHidden
}

export interface Sitemap {
  readonly isIndex: boolean
  readonly locations: ReadonlyArray<string>
}

/** The protocol's limit for one sitemap. */
const maxLocations = 50_000

/** Undefined for a document that is not sitemap XML. */
export const readSitemap = (bytes: Uint8Array): Sitemap | undefined => {
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
        if (text !== undefined && locations.length < maxLocations) locations.push(text.trim())
        text = undefined
      }
    },
    { xmlMode: true }
  )
  parser.end(decode(bytes))
  if (root !== "urlset" && root !== "sitemapindex") return undefined
  return { isIndex: root === "sitemapindex", locations }
}

export const sitemapsIn = (robots: Uint8Array): ReadonlyArray<string> =>
  decode(robots)
    .split(/\r\n|\r|\n/)
    .flatMap((line) => /^\s*sitemap\s*:\s*(\S+)/i.exec(line)?.[1] ?? [])
