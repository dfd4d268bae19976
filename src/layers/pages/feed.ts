import { parseFeed } from "htmlparser2"
import type { ParsedPage, ParseFailureReason } from "../../domain/pages/Page.ts"
import { visibleText } from "../../domain/pages/visibleText.ts"
import { removeHidden } from "./html/hidden.ts"
import { readHtml } from "./html/readHtml.ts"
import { flatten, oneLine, parseTree } from "./html/Tree.ts"
import { readPublished } from "./published.ts"
import { render } from "./Rendering.ts"

const escapeHtml = (text: string): string => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;")

const clean = (text: string | undefined): string | null => oneLine(visibleText(text ?? "")).slice(0, 2_000) || null

interface Entry {
  readonly title?: string
  readonly link?: string
  readonly description?: string
  readonly pubDate?: Date
}

const entryHtml = ({ description = "", link, pubDate, title }: Entry): string => {
  const name = escapeHtml(title ?? link ?? "")
  const heading = link === undefined ? name : `<a href="${escapeHtml(link)}">${name}</a>`
  const date = pubDate === undefined || Number.isNaN(pubDate.getTime()) ? "" : `<p>${pubDate.toISOString()}</p>`
  return `<h2>${heading}</h2>${date}<div>${description}</div>`
}

export const readXml = (xml: string, url: string, mediaType: string): ParsedPage | ParseFailureReason => {
  const feed = parseFeed(xml)
  if (feed === null) {
    const isHtml = /^\s*(?:<\?xml[^>]*>\s*)?(?:<!doctype\s+html[^>]*>\s*)?<html[\s>]/i.test(xml.slice(0, 2_000))
    return isHtml ? readHtml(xml, url, mediaType) : "unsupported_media_type"
  }
  // Parses entries separately, so that unclosed elements do not swallow the next entry.
  const parts = feed.items.map((item) => {
    const root = parseTree(entryHtml(item))
    removeHidden(root)
    flatten(root)
    return render(root, feed.link ?? url)
  })
  const links = new Map(parts.flatMap((part) => part.links.map((link) => [link.url, link] as const)))
  const joined = (pick: "markdown" | "text") => parts.map((part) => part[pick]).join("\n\n")
  if (joined("text").trim() === "") return "no_text"
  return {
    title: clean(feed.title),
    description: clean(feed.description),
    author: clean(feed.author),
    siteName: null,
    published: feed.updated === undefined ? null : (readPublished(isoOf(feed.updated)) ?? null),
    language: null,
    mediaType,
    markdown: joined("markdown"),
    text: joined("text"),
    links: [...links.values()].slice(0, 200)
  }
}

const isoOf = (date: Date): string => (Number.isNaN(date.getTime()) ? "" : date.toISOString())
