import { DomHandler, DomUtils, Parser } from "htmlparser2"
import type { ParsedPage, ParseFailureReason } from "../../domain/pages/Page.ts"
import { visibleText } from "../../domain/pages/visibleText.ts"
import { readHtml, readVisible } from "./html/readHtml.ts"
import { ElementCount, oneLine, parseTree } from "./html/Tree.ts"
import { readPublished } from "./published.ts"
import { render } from "./Rendering.ts"
import { htmlOfXml } from "./xhtml.ts"

const escapeHtml = (text: string): string => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;")

const clean = (text: string | undefined): string | null => oneLine(visibleText(text ?? "")).slice(0, 2_000) || null

interface Entry {
  /** HTML. */
  readonly title: string | undefined
  readonly link: string | undefined
  readonly published: string | undefined
  /** The full text if the feed has it, otherwise the summary. */
  readonly html: string
}

interface Feed {
  readonly title: string | undefined
  readonly description: string | undefined
  readonly author: string | undefined
  readonly updated: string | undefined
  readonly link: string | undefined
  readonly entries: ReadonlyArray<Entry>
}

const entryHtml = ({ html, link, published, title }: Entry): string => {
  const name = title ?? escapeHtml(link ?? "")
  const heading = link === undefined ? name : `<a href="${escapeHtml(link)}">${name}</a>`
  const date = published === undefined ? undefined : readPublished(published)
  return `<h2>${heading}</h2>${date === undefined ? "" : `<p>${date}</p>`}<div>${html}</div>`
}

const pageOf = (feed: Feed, url: string, mediaType: string): ParsedPage | ParseFailureReason => {
  // Parses entries separately, so that unclosed elements do not swallow the next entry.
  const parts = feed.entries.map((entry) => {
    const root = parseTree(entryHtml(entry))
    readVisible(root)
    return render(root, URL.parse(feed.link ?? "", url)?.href ?? url)
  })
  const links = new Map(parts.flatMap((part) => part.links.map((link) => [link.url, link] as const)))
  const joined = (pick: "markdown" | "text") => parts.map((part) => part[pick]).join("\n\n")
  if (joined("text").trim() === "") return "no_text"
  return {
    title: clean(feed.title),
    description: clean(feed.description),
    author: clean(feed.author),
    siteName: null,
    published: feed.updated === undefined ? null : (readPublished(feed.updated) ?? null),
    language: null,
    mediaType,
    markdown: joined("markdown"),
    text: joined("text"),
    links: [...links.values()].slice(0, 200)
  }
}

type XmlElement = ReturnType<typeof DomUtils.getElementsByTagName>[number]

const childrenNamed = (parent: XmlElement, names: ReadonlyArray<string>): ReadonlyArray<XmlElement> =>
  names.flatMap((name) =>
    parent.children.filter((node): node is XmlElement => DomUtils.isTag(node) && node.name.toLowerCase() === name)
  )

const textOf = (parent: XmlElement, ...names: ReadonlyArray<string>): string | undefined =>
  childrenNamed(parent, names)
    .map((element) => DomUtils.textContent(element).trim())
    .find((text) => text !== "")

const linkOf = (parent: XmlElement): string | undefined => {
  const links = childrenNamed(parent, ["link", "atom:link"])
  const found = links.find(({ attribs }) => (attribs.rel ?? "alternate") === "alternate") ?? links[0]
  if (found === undefined) return undefined
  return found.attribs.href ?? (DomUtils.textContent(found).trim() || undefined)
}

const contentNames = [
  "content:encoded",
  "content",
  "body",
  "description",
  "summary",
  "media:description",
  "itunes:summary"
]

/** Atom states what its text is. In RSS it is HTML, escaped or not. */
const htmlOf = (element: XmlElement): string => {
  const type = element.attribs.type ?? "html"
  if (/^(?:text|text\/plain)$/i.test(type)) return escapeHtml(DomUtils.textContent(element))
  const isMarkup = element.children.some((node) => DomUtils.isTag(node))
  return isMarkup ? htmlOfXml(DomUtils.getInnerHTML(element, { xmlMode: true })) : DomUtils.textContent(element)
}

/** Many titles in RSS are escaped twice. Tags in them are text, unless the type says HTML. */
const titleOf = (item: XmlElement): string | undefined => {
  const element = childrenNamed(item, ["title"])[0]
  const text = element === undefined ? "" : DomUtils.textContent(element).trim()
  if (text === "") return undefined
  return /html/i.test(element?.attribs.type ?? "") ? text : text.replace(/</g, "&lt;")
}

const entryOf = (item: XmlElement): Entry => {
  const groups = [item, ...childrenNamed(item, ["media:group"])]
  const texts = groups.flatMap((group) => childrenNamed(group, contentNames)).map(htmlOf)
  return {
    title: titleOf(item),
    link: linkOf(item) ?? textOf(item, "guid"),
    published: textOf(item, "pubdate", "published", "dc:date", "updated"),
    html: texts.find((text) => text.trim() !== "") ?? ""
  }
}

class BoundedHandler extends DomHandler {
  readonly #count = new ElementCount()

  override onopentag(name: string, attributes: { [name: string]: string }): void {
    this.#count.add(Object.keys(attributes).length)
    super.onopentag(name, attributes)
  }
}

const isFeedName = /^(?:rss|feed|rdf:rdf)$/i

export const readXml = (xml: string, url: string, mediaType: string): ParsedPage | ParseFailureReason => {
  const options = { xmlMode: true }
  const handler = new BoundedHandler(undefined, options)
  new Parser(handler, options).end(xml)
  const root = handler.root.children.find((node): node is XmlElement => DomUtils.isTag(node))
  if (root === undefined || !isFeedName.test(root.name)) {
    return root?.name.toLowerCase() === "html" ? readHtml(htmlOfXml(xml), url, mediaType) : "unsupported_media_type"
  }
  const channel = childrenNamed(root, ["channel"])[0] ?? root
  const authors = childrenNamed(channel, ["author"])
  return pageOf(
    {
      title: textOf(channel, "title"),
      description: textOf(channel, "description", "subtitle"),
      author: authors.flatMap((author) => textOf(author, "name") ?? [])[0] ?? textOf(channel, "manageditor", "author"),
      updated: textOf(channel, "updated", "lastbuilddate", "pubdate"),
      link: linkOf(channel),
      // RDF has its items beside the channel.
      entries: [channel, ...(channel === root ? [] : [root])]
        .flatMap((parent) => childrenNamed(parent, ["item", "entry"]))
        .map(entryOf)
    },
    url,
    mediaType
  )
}

const isObject = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const stringOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined)

/** Undefined if the JSON is not a JSON feed. */
export const readJsonFeed = (
  json: string,
  url: string,
  mediaType: string
): ParsedPage | ParseFailureReason | undefined => {
  if (!json.includes("jsonfeed.org")) return undefined
  let feed: unknown
  try {
    feed = JSON.parse(json)
  } catch {
    return undefined
  }
  if (!isObject(feed) || !/^https?:\/\/jsonfeed\.org\/version\//.test(stringOf(feed.version) ?? "")) return undefined
  const items: ReadonlyArray<unknown> = Array.isArray(feed.items) ? feed.items : []
  const [author] = [feed.authors, feed.author].flat().filter(isObject)
  return pageOf(
    {
      title: stringOf(feed.title),
      description: stringOf(feed.description),
      author: stringOf(author?.name),
      updated: undefined,
      link: stringOf(feed.home_page_url),
      entries: items.filter(isObject).map((item) => ({
        title: escapeHtml(stringOf(item.title) ?? "") || undefined,
        link: stringOf(item.url),
        published: stringOf(item.date_published),
        html: stringOf(item.content_html) ?? escapeHtml(stringOf(item.content_text) ?? stringOf(item.summary) ?? "")
      }))
    },
    url,
    mediaType
  )
}
