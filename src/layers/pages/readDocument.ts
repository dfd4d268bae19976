import { Marked } from "marked"
import { type DocumentKind, kindOf, readMediaType } from "../../domain/pages/mediaType.ts"
import type { Document, ParsedPage, ParseFailureReason } from "../../domain/pages/Page.ts"
import { sniff } from "../../domain/pages/sniff.ts"
import { visibleText } from "../../domain/pages/visibleText.ts"
import { decodeText } from "./charset.ts"
import { readJsonFeed, readXml } from "./feed.ts"
import { readHtml, readVisible, removeTitleHeading } from "./html/readHtml.ts"
import { findElement, oneLine, parseTree, textOf } from "./html/Tree.ts"
import { fenceOf, render } from "./Rendering.ts"
import { htmlOfXml } from "./xhtml.ts"

type Source = Pick<Document, "bytes" | "contentType" | "url">

const unnamed = {
  title: null,
  description: null,
  author: null,
  siteName: null,
  published: null,
  language: null,
  links: []
}

const marked = new Marked({ gfm: true })

/** Renders Markdown to HTML and back, so that comments and hidden HTML are removed like other hidden text. */
const readMarkdown = (source: string, url: string, mediaType: string): ParsedPage => {
  const markdown = source.replace(/^---[ \t]*\n[\s\S]*?\n---[ \t]*(?:\n|$)/, "")
  const root = parseTree(marked.parse(markdown, { async: false }))
  readVisible(root)
  const heading = findElement(root, ({ tagName }) => tagName === "h1")
  const title = heading === undefined ? null : oneLine(visibleText(textOf(heading))) || null
  removeTitleHeading(root, title)
  return { ...unnamed, title, mediaType, ...render(root, url) }
}

const readPlain = (source: string, kind: DocumentKind, mediaType: string): ParsedPage => {
  const fence = fenceOf(source)
  const markdown = kind === "json" ? `${fence}json\n${source}\n${fence}` : source
  return { ...unnamed, mediaType, markdown, text: source }
}

/** Throws `DocumentTooLarge` and errors of the libraries. */
export const readDocument = async ({ bytes, contentType, url }: Source): Promise<ParsedPage | ParseFailureReason> => {
  const stated = readMediaType(contentType ?? "")
  const name = sniff(bytes, stated)
  const kind = kindOf(name)
  if (kind === undefined) return "unsupported_media_type"
  if (kind === "pdf") return (await import("./pdf.ts")).readPdf(bytes, name)
  const isXhtml = name === "application/xhtml+xml"
  const markup = kind === "html" && !isXhtml ? "html" : kind === "html" || kind === "xml" ? "xml" : undefined
  const source = await decodeText(bytes, stated.charset, markup)
  if (kind === "html") return readHtml(isXhtml ? htmlOfXml(source) : source, url, name)
  if (kind === "xml") return readXml(source, url, name)
  const shown = visibleText(source).trim()
  if (!/\S/.test(shown)) return "no_text"
  const feed = kind === "json" ? readJsonFeed(shown, url, name) : undefined
  if (feed !== undefined) return feed
  const isMarkdown =
    kind === "markdown" || (kind === "text" && /\.(?:md|markdown)$/i.test(URL.parse(url)?.pathname ?? ""))
  if (!isMarkdown) return readPlain(shown, kind, name)
  const page = readMarkdown(shown, url, name)
  return page.text === "" ? "no_text" : page
}
