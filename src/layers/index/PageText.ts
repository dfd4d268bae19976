import { Marked } from "marked"
import { parse as parseHtml } from "parse5"
import { parseDocument } from "yaml"
import { readPublished } from "../../domain/options/published.ts"
import {
  type AttributeName,
  attribute as attributeOf,
  type Element,
  isElement,
  isHtml,
  type Node,
  oneLine,
  type Parent,
  walk
} from "../pages/html/Tree.ts"
import { readPublished as statedDate } from "../pages/published.ts"

/** The searchable parts of a page. Missing parts are empty strings. */
export interface PageText {
  readonly title: string
  readonly headings: string
  readonly description: string
  readonly content: string
  /** A two-letter code. Undefined if the page declares no language. */
  readonly language: string | undefined
  readonly canonical: string | undefined
  /** A date or a date-time in UTC. Undefined if the page states none. */
  readonly published: string | undefined
}

export interface BadFrontMatter {
  readonly line: number
  readonly problem: string
}

const maxContentCharacters = 50_000

const maxTitleCharacters = 1_000
const maxHeadings = 100
const maxHeadingCharacters = 200
const maxDescriptionCharacters = 300
const minParagraphCharacters = 40

const leftOut = new Set("head script style noscript template svg math nav header footer aside form button".split(" "))

const inline = new Set(
  "a abbr b bdi bdo cite code data del dfn em i ins kbd mark q s samp small span strong sub sup time u var wbr".split(
    " "
  )
)

const attribute = (element: Element | undefined, name: AttributeName): string =>
  (element && attributeOf(element, name)?.trim()) ?? ""

const elementsOf = (root: Parent): ReadonlyArray<Element> => {
  const elements: Array<Element> = []
  walk(root, (element) => elements.push(element) > 0)
  return elements
}

const textOf = (root: Element | undefined, maxCharacters: number): string => {
  const waiting: Array<Node | string> = root === undefined ? [] : [root]
  const parts: Array<string> = []
  let length = 0
  for (let node = waiting.pop(); node !== undefined && length < maxCharacters; node = waiting.pop()) {
    const text = typeof node === "string" ? node : "value" in node ? node.value : ""
    if (text !== "") {
      parts.push(text)
      length += text.length
    }
    if (typeof node === "string" || !isElement(node) || (node !== root && leftOut.has(node.tagName))) continue
    const edge = inline.has(node.tagName) ? "" : " "
    waiting.push(edge, ...node.childNodes.toReversed(), edge)
  }
  return oneLine(parts.join("")).slice(0, maxCharacters)
}

const cutAtWord = (text: string, maxCharacters: number): string =>
  text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters).replace(/\s+\S*$/, "")}…`

const languageOf = (tag: string): string | undefined => /^[a-z]{2}(?=$|[-_])/i.exec(tag)?.[0].toLowerCase()

interface Outline {
  readonly elements: ReadonlyArray<Element>
  readonly meta: ReadonlyMap<string, string>
  readonly first: (name: string) => Element | undefined
}

const outlineOf = (html: string): Outline => {
  const elements = elementsOf(parseHtml(html))
  const meta = new Map<string, string>()
  for (const element of elements) {
    if (element.tagName !== "meta") continue
    const name = (attribute(element, "name") || attribute(element, "property")).toLowerCase()
    if (name !== "" && !meta.has(name)) meta.set(name, oneLine(attribute(element, "content")))
  }
  // SVG images also have title elements.
  const own = elements.filter(isHtml)
  return { elements: own, meta, first: (name) => own.find((element) => element.tagName === name) }
}

const opening = (main: Element | undefined, content: string): string => {
  for (const element of main === undefined ? [] : elementsOf(main)) {
    if (element.tagName !== "p") continue
    const text = textOf(element, 2 * maxDescriptionCharacters)
    if (text.length >= minParagraphCharacters) return text
  }
  return content
}

const headingsOf = (main: Element | undefined): string =>
  (main === undefined ? [] : elementsOf(main))
    .filter(({ tagName }) => /^h[1-6]$/.test(tagName))
    .slice(0, maxHeadings)
    .map((heading) => textOf(heading, maxHeadingCharacters))
    .filter((text) => text !== "")
    .join("\n")

const publishedNames = ["article:published_time", "og:article:published_time", "datepublished", "dc.date", "date"]

const maxJsonLdCharacters = 100_000

const publishedIn = ({ elements, meta }: Outline): string | undefined => {
  const scripts = elements.filter(
    (each) => each.tagName === "script" && attribute(each, "type").toLowerCase() === "application/ld+json"
  )
  const stated = [
    ...scripts.map((each) => /"datePublished"\s*:\s*"([^"]{1,60})"/.exec(textOf(each, maxJsonLdCharacters))?.[1]),
    ...publishedNames.map((name) => meta.get(name)),
    ...elements.filter(({ tagName }) => tagName === "time").map((each) => attribute(each, "datetime"))
  ]
  return firstDate(stated)
}

const firstDate = (stated: ReadonlyArray<string | undefined>): string | undefined => {
  for (const text of stated) {
    const date = text === undefined ? undefined : readPublished(statedDate(text), 0)
    if (date !== undefined) return date
  }
  return undefined
}

export const readHtml = (html: string): PageText => {
  const outline = outlineOf(html)
  const { elements, first, meta } = outline
  const body = first("main") ?? first("article") ?? first("body")
  const content = textOf(body, maxContentCharacters)
  const titles = ["title", "h1", "h2", "h3"].map((name) => textOf(first(name), maxTitleCharacters))
  const canonical = elements.find((each) => each.tagName === "link" && attribute(each, "rel") === "canonical")
  const described = meta.get("description") || meta.get("og:description")
  return {
    title: titles.find((text) => text !== "") || meta.get("og:title") || "",
    headings: headingsOf(body),
    description: cutAtWord(described || opening(body, content), maxDescriptionCharacters),
    content,
    language: languageOf(attribute(first("html"), "lang")),
    canonical: attribute(canonical, "href") || undefined,
    published: publishedIn(outline)
  }
}

const frontMatter = /^---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/

const marked = new Marked({ gfm: true })

export const readMarkdown = (markdown: string): PageText | BadFrontMatter => {
  const [head = "", yaml = ""] = frontMatter.exec(markdown) ?? []
  const document = parseDocument(yaml)
  const [error] = document.errors
  if (error !== undefined) {
    const reason = error.message.replace(/ at line \d+, column \d+:[\s\S]*$/, "")
    return { line: (error.linePos?.[0].line ?? 0) + 1, problem: `front matter: ${reason}` }
  }
  const given = (name: string): string => {
    const value: unknown = document.get(name)
    return typeof value === "string" || typeof value === "number" ? oneLine(`${value}`) : ""
  }
  const page = readHtml(marked.parse(markdown.slice(head.length), { async: false }))
  return {
    ...page,
    title: given("title") || page.title,
    description: cutAtWord(given("description") || page.description, maxDescriptionCharacters),
    language: languageOf(given("lang") || given("language")),
    canonical: undefined,
    published: firstDate(["published", "datePublished", "date"].map(given))
  }
}

export const readSitemap = (xml: string): ReadonlyArray<{ readonly address: string; readonly line: number }> => {
  const locations = elementsOf(parseHtml(xml, { sourceCodeLocationInfo: true })).filter(
    ({ tagName }) => tagName === "loc"
  )
  return locations.map((element) => ({
    address: textOf(element, 10_000),
    line: element.sourceCodeLocation?.startLine ?? 1
  }))
}
