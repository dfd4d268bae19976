import { Marked } from "marked"
import { type DefaultTreeAdapterTypes as Html, parse as parseHtml } from "parse5"
import { parseDocument } from "yaml"

/** The parts of a page that are searched. A text is empty where the page has none. */
export interface PageText {
  readonly title: string
  readonly description: string
  readonly content: string
  /** Two letters; undefined where the page names no language. */
  readonly language: string | undefined
  /** The address that an HTML page names as its own. */
  readonly canonical: string | undefined
}

/** The front matter of a Markdown page is not YAML. */
export interface BadFrontMatter {
  readonly line: number
  readonly problem: string
}

/** Characters of a page's text that are searched. */
const maxContentCharacters = 50_000

const maxTitleCharacters = 1_000
const maxDescriptionCharacters = 300
const minParagraphCharacters = 40

/** Elements whose text is not the page's own. */
const leftOut = new Set("head script style noscript template svg math nav header footer aside form button".split(" "))

/** Elements that stand within a line: their text runs on with what is around them. */
const inline = new Set(
  "a abbr b bdi bdo cite code data del dfn em i ins kbd mark q s samp small span strong sub sup time u var wbr".split(
    " "
  )
)

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim()

const isElement = (node: Html.Node): node is Html.Element => "tagName" in node

const attribute = (element: Html.Element | undefined, name: string): string =>
  element?.attrs.find((each) => each.name === name)?.value.trim() ?? ""

/** All elements of a tree in their order. A stack, because pages may be nested deeper than calls can be. */
function* elementsOf(root: Html.ParentNode): Generator<Html.Element> {
  const waiting: Array<Html.ChildNode> = root.childNodes.toReversed()
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (!isElement(node)) continue
    yield node
    for (let index = node.childNodes.length - 1; index >= 0; index--) {
      const child = node.childNodes[index]
      if (child !== undefined) waiting.push(child)
    }
  }
}

/** The text of an element with a space where a block begins or ends, up to a limit. */
const textOf = (root: Html.Element | undefined, maxCharacters: number): string => {
  const waiting: Array<Html.ChildNode | string> = root === undefined ? [] : [root]
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
  readonly elements: ReadonlyArray<Html.Element>
  readonly meta: ReadonlyMap<string, string>
  readonly first: (name: string) => Html.Element | undefined
}

const outlineOf = (html: string): Outline => {
  const elements = [...elementsOf(parseHtml(html))]
  const meta = new Map<string, string>()
  for (const element of elements) {
    if (element.tagName !== "meta") continue
    const name = (attribute(element, "name") || attribute(element, "property")).toLowerCase()
    if (name !== "" && !meta.has(name)) meta.set(name, oneLine(attribute(element, "content")))
  }
  // An SVG picture has titles too.
  const own = elements.filter(({ namespaceURI }) => namespaceURI === "http://www.w3.org/1999/xhtml")
  return { elements: own, meta, first: (name) => own.find((element) => element.tagName === name) }
}

/** The first paragraph that is more than a label, else the beginning of the text. */
const opening = (main: Html.Element | undefined, content: string): string => {
  for (const element of main === undefined ? [] : elementsOf(main)) {
    if (element.tagName !== "p") continue
    const text = textOf(element, 2 * maxDescriptionCharacters)
    if (text.length >= minParagraphCharacters) return text
  }
  return content
}

/** Title, description and text of an HTML page: its main part, without navigation and scripts. */
export const readHtml = (html: string): PageText => {
  const { elements, first, meta } = outlineOf(html)
  const body = first("main") ?? first("article") ?? first("body")
  const content = textOf(body, maxContentCharacters)
  const titles = ["title", "h1", "h2", "h3"].map((name) => textOf(first(name), maxTitleCharacters))
  const canonical = elements.find((each) => each.tagName === "link" && attribute(each, "rel") === "canonical")
  const described = meta.get("description") || meta.get("og:description")
  return {
    title: titles.find((text) => text !== "") || meta.get("og:title") || "",
    description: cutAtWord(described || opening(body, content), maxDescriptionCharacters),
    content,
    language: languageOf(attribute(first("html"), "lang")),
    canonical: attribute(canonical, "href") || undefined
  }
}

const frontMatter = /^---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/

const marked = new Marked({ gfm: true })

/** The same of a Markdown page; what its front matter says comes first. */
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
    canonical: undefined
  }
}

/** The addresses in the `loc` elements of a sitemap, each with its line. */
export const readSitemap = (xml: string): ReadonlyArray<{ readonly address: string; readonly line: number }> => {
  const locations = [...elementsOf(parseHtml(xml, { sourceCodeLocationInfo: true }))].filter(
    ({ tagName }) => tagName === "loc"
  )
  return locations.map((element) => ({
    address: textOf(element, 10_000),
    line: element.sourceCodeLocation?.startLine ?? 1
  }))
}
