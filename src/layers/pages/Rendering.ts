import { maxPageLinks } from "../../domain/pages/limits.ts"
import type { PageLink } from "../../domain/pages/Page.ts"
import { visibleText } from "../../domain/pages/visibleText.ts"
import { headings, inlineElements, lists } from "./html/blocks.ts"
import {
  attribute,
  DocumentTooLarge,
  type Element,
  findElement,
  isElement,
  isText,
  type Node,
  type Parent,
  pushChildren,
  textOf
} from "./html/Tree.ts"

export interface Rendering {
  readonly markdown: string
  readonly text: string
  readonly links: ReadonlyArray<PageLink>
}

/** Nested lists and long URLs can produce more text than the page has. */
const maxCharacters = 10_000_000

interface Pair {
  readonly markdown: string
  readonly text: string
}

const empty: Pair = { markdown: "", text: "" }
const same = (text: string): Pair => ({ markdown: text, text })
const joined = (parts: ReadonlyArray<Pair>, separator: string): Pair => ({
  markdown: parts.map(({ markdown }) => markdown).join(separator),
  text: parts.flatMap(({ text }) => (text === "" ? [] : [text])).join(separator)
})

const isBlank = ({ markdown }: Pair): boolean => markdown.trim() === ""

const escapeInline = (text: string): string =>
  text.replace(/[\\`*[\]]|<(?=[a-z/!?])|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|~|&(?=#?\w+;)/giu, "\\$&")

const escapeLine = (line: string): string =>
  line.replace(/^(\s*)([#>+=|-])/, "$1\\$2").replace(/^(\s*\d{1,9})([.)])(?=\s|$)/, "$1\\$2")

export const fenceOf = (code: string, least = 3): string => {
  const longest = (code.match(/`+/g) ?? []).reduce((most, { length }) => Math.max(most, length), 0)
  return "`".repeat(Math.max(least, longest + 1))
}

const codeSpan = (code: string): string => {
  const fence = fenceOf(code, 1)
  const space = code.startsWith("`") || code.endsWith("`") ? " " : ""
  return `${fence}${space}${code}${space}${fence}`
}

const languageName = /(?:^|\s)(?:lang(?:uage)?|highlight(?:-source)?|brush)[-:]\s?([a-z0-9+#.-]{1,20})(?=\s|$|;)/i

const languageOf = (pre: Element): string => {
  const code = findElement(pre, ({ tagName }) => tagName === "code")
  const wrappers = [
    pre.parentNode,
    pre.parentNode !== null && "parentNode" in pre.parentNode ? pre.parentNode.parentNode : null
  ]
  for (const element of [code, pre, ...wrappers]) {
    if (element === undefined || element === null || !isElement(element)) continue
    const given = attribute(element, "data-lang") ?? attribute(element, "data-language")
    const name = given ?? languageName.exec(attribute(element, "class") ?? "")?.[1]
    if (name !== undefined && /^[a-z0-9+#.-]{1,20}$/i.test(name)) return name.toLowerCase()
  }
  return ""
}

const preformatted = (root: Node): string => {
  const waiting: Array<Node | Parent> = [root]
  const parts: Array<string> = []
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if ("value" in node) parts.push(node.value)
    if (!isElement(node)) continue
    if (node.tagName === "br") parts.push("\n")
    pushChildren(waiting, node)
  }
  return visibleText(parts.join("")).replace(/^\n+|\s+$/g, "")
}

const indent = (text: string, first: string, rest: string): string =>
  text
    .split("\n")
    .map((line, index) => (index === 0 ? first + line : line === "" ? "" : rest + line))
    .join("\n")

const emphasis: { readonly [name: string]: string } = {
  b: "**",
  strong: "**",
  em: "*",
  i: "*",
  del: "~~",
  s: "~~",
  strike: "~~"
}

class Renderer {
  readonly links = new Map<string, string>()
  readonly #base: string
  #characters = 0

  constructor(base: string) {
    this.#base = base
  }

  #counted(pair: Pair): Pair {
    this.#characters += pair.markdown.length
    if (this.#characters > 2 * maxCharacters) throw new DocumentTooLarge()
    return pair
  }

  #address(element: Element): string | undefined {
    const href = visibleText(attribute(element, "href") ?? "").trim()
    const url = href === "" || href.startsWith("#") ? null : URL.parse(href, this.#base)
    return url !== null && /^https?:$/.test(url.protocol) && url.username === "" ? url.href : undefined
  }

  #link(element: Element): Pair {
    const inner = this.inline(element)
    const label = inner.text.replace(/\s+/g, " ").trim()
    const url = this.#address(element)
    if (url === undefined || label === "") return inner
    if (this.links.size < maxPageLinks && !this.links.has(url)) this.links.set(url, label)
    const [, before = "", body = "", after = ""] = /^(\s*)([\s\S]*?)(\s*)$/.exec(inner.markdown) ?? []
    const target = url.replace(/[()\\<>]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    return this.#counted({ markdown: `${before}[${body}](${target})${after}`, text: inner.text })
  }

  #marked(element: Element, mark: string): Pair {
    const inner = this.inline(element)
    const [, before = "", body = "", after = ""] = /^(\s*)([\s\S]*?)(\s*)$/.exec(inner.markdown) ?? []
    if (body === "" || body.includes(mark)) return inner
    return { markdown: `${before}${mark}${body}${mark}${after}`, text: inner.text }
  }

  #inlineElement(element: Element): Pair {
    const name = element.tagName
    if (name === "br") return same("\n")
    if (name === "a") return this.#link(element)
    if (name === "img") {
      const alt = visibleText(attribute(element, "alt") ?? "")
        .replace(/\s+/g, " ")
        .trim()
      return { markdown: escapeInline(alt), text: "" }
    }
    if (name === "math") {
      const tex = findElement(
        element,
        (each) => each.tagName === "annotation" && /tex/i.test(attribute(each, "encoding") ?? "")
      )
      const formula = visibleText(tex === undefined ? (attribute(element, "alttext") ?? textOf(element)) : textOf(tex))
      return formula === "" ? empty : { markdown: `$${formula}$`, text: formula }
    }
    if (/^(?:code|kbd|samp|tt|var)$/.test(name)) {
      const code = preformatted(element).replace(/\s+/g, " ")
      if (code === "" || name === "var") return this.inline(element)
      const isLinked = findElement(element, ({ tagName }) => tagName === "a") !== undefined
      return isLinked ? this.inline(element) : { markdown: codeSpan(code), text: code }
    }
    const mark = emphasis[name]
    return mark === undefined ? this.inline(element) : this.#marked(element, mark)
  }

  inline(parent: Element): Pair {
    return joined(
      parent.childNodes.map((node) => this.#inlineNode(node)),
      ""
    )
  }

  #inlineNode(node: Node): Pair {
    if (isText(node)) {
      const text = visibleText(node.value).replace(/\s+/g, " ")
      return this.#counted({ markdown: escapeInline(text), text })
    }
    if (!isElement(node)) return empty
    if (inlineElements.has(node.tagName)) return this.#inlineElement(node)
    const inner = this.inline(node)
    return { markdown: ` ${inner.markdown} `, text: ` ${inner.text} ` }
  }

  #paragraph(parts: ReadonlyArray<Pair>): Pair {
    const { markdown, text } = joined(parts, "")
    const lines = (run: string) =>
      run
        .split("\n")
        .map((line) => line.replace(/ +/g, " ").trim())
        .filter((line) => line !== "")
    return { markdown: lines(markdown).map(escapeLine).join("  \n"), text: lines(text).join("\n") }
  }

  blocks(parent: Parent): ReadonlyArray<Pair> {
    const blocks: Array<Pair> = []
    let run: Array<Pair> = []
    const flush = () => {
      const paragraph = this.#paragraph(run)
      run = []
      if (!isBlank(paragraph)) blocks.push(paragraph)
    }
    for (const node of parent.childNodes) {
      const holdsBlocks = isElement(node) && (!inlineElements.has(node.tagName) || hasBlock(node))
      if (!holdsBlocks) {
        run.push(this.#inlineNode(node))
        continue
      }
      flush()
      for (const block of this.#block(node)) if (!isBlank(block)) blocks.push(this.#counted(block))
    }
    flush()
    return blocks
  }

  #block(element: Element): ReadonlyArray<Pair> {
    const name = element.tagName
    if (headings.has(name)) {
      const { markdown, text } = this.#paragraph([this.inline(element)])
      const line = markdown.replace(/ *\n/g, " ")
      return line === ""
        ? []
        : [{ markdown: `${"#".repeat(Number(name.slice(1)))} ${line}`, text: text.replace(/\n/g, " ") }]
    }
    if (name === "pre" || name === "listing" || name === "xmp") {
      const code = preformatted(element)
      const fence = fenceOf(code)
      return code.trim() === "" ? [] : [{ markdown: `${fence}${languageOf(element)}\n${code}\n${fence}`, text: code }]
    }
    if (name === "hr") return [{ markdown: "---", text: "" }]
    if (name === "blockquote") {
      const { markdown, text } = joined(this.blocks(element), "\n\n")
      return [
        {
          markdown:
            markdown === ""
              ? ""
              : markdown
                  .split("\n")
                  .map((line) => `> ${line}`.trimEnd())
                  .join("\n"),
          text
        }
      ]
    }
    if (name === "table") return this.#table(element)
    if (lists.has(name) && name !== "dl") return [this.#list(element)]
    if (name === "dt") return [this.#paragraph([this.#marked(element, "**")])]
    return this.blocks(element)
  }

  #list(list: Element): Pair {
    const start = Number.parseInt(attribute(list, "start") ?? "1", 10)
    let number = Number.isSafeInteger(start) && start >= 0 ? start : 1
    const items: Array<Pair> = []
    for (const child of list.childNodes) {
      if (!isElement(child)) continue
      const parts = lists.has(child.tagName) && child.tagName !== "dl" ? [this.#list(child)] : this.blocks(child)
      const isNested = lists.has(child.tagName)
      const isLoose = parts.some(({ markdown }) => markdown.startsWith("```"))
      const { markdown, text } = joined(parts, isLoose ? "\n\n" : "\n")
      if (markdown === "") continue
      const marker = isNested ? "  " : list.tagName === "ol" ? `${number++}. ` : "- "
      const rest = " ".repeat(marker.length)
      items.push(this.#counted({ markdown: indent(markdown, marker, rest), text: indent(text, marker, rest) }))
    }
    return joined(items, "\n")
  }

  /** A data table has at least two columns. Cells of other tables become blocks. */
  #table(table: Element): ReadonlyArray<Pair> {
    const rows = rowsOf(table)
    const columns = rows.reduce((most, { length }) => Math.max(most, length), 0)
    const isLayout =
      attribute(table, "role") === "presentation" ||
      columns < 2 ||
      rows.length < 2 ||
      columns > maxColumns ||
      rows.flat().some(hasWideContent)
    if (isLayout) return rows.flatMap((cells) => cells.flatMap((cell) => this.blocks(cell)))
    const lines = rows.map((cells) => {
      const pairs = cells.map((cell) => this.#paragraph([this.inline(cell)]))
      const filled = Array.from({ length: columns }, (_, index) => pairs[index] ?? empty)
      return {
        markdown: `| ${filled.map(({ markdown }) => markdown.replace(/ *\n/g, "<br>").replace(/\|/g, "\\|")).join(" | ")} |`,
        text: pairs.map(({ text }) => text.replace(/\n/g, " ")).join("\t")
      }
    })
    const [head = empty, ...body] = lines
    const rule = `|${" --- |".repeat(columns)}`
    const caption = findElement(table, ({ tagName }) => tagName === "caption")
    const title = caption === undefined ? [] : [this.#paragraph([this.inline(caption)])]
    const markdown = [head.markdown, rule, ...body.map((line) => line.markdown)].join("\n")
    return [...title, { markdown, text: lines.map(({ text }) => text).join("\n") }]
  }
}

/** Every row is padded to the widest. */
const maxColumns = 50

const hasBlock = (element: Element): boolean =>
  findElement(element, ({ tagName }) => !inlineElements.has(tagName)) !== undefined

const wide = new Set(["table", "pre", "ul", "ol", "dl", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6"])

const hasWideContent = (cell: Element): boolean => findElement(cell, ({ tagName }) => wide.has(tagName)) !== undefined

const rowsOf = (table: Element): ReadonlyArray<ReadonlyArray<Element>> => {
  const rows: Array<ReadonlyArray<Element>> = []
  for (const child of table.childNodes) {
    if (!isElement(child)) continue
    if (child.tagName === "tr") rows.push(child.childNodes.filter(isElement))
    else if (/^t(?:head|body|foot)$/.test(child.tagName)) rows.push(...rowsOf(child))
  }
  return rows.filter((cells) => cells.length > 0)
}

export const render = (root: Parent, base: string): Rendering => {
  const renderer = new Renderer(base)
  const { markdown, text } = joined(renderer.blocks(root), "\n\n")
  if (markdown.length > maxCharacters) throw new DocumentTooLarge()
  return {
    markdown: markdown.trim(),
    text: text.trim(),
    links: Array.from(renderer.links, ([url, label]) => ({ url, text: label }))
  }
}
