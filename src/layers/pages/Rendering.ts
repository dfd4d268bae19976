import { maxPageLinks } from "../../domain/pages/limits.ts"
import type { PageLink } from "../../domain/pages/Page.ts"
import { boundLink } from "../../domain/pages/PageLinks.ts"
import { visibleText } from "../../domain/pages/visibleText.ts"
import { hasBlock, headings, isBlock, lists } from "./html/blocks.ts"
import { codeText } from "./html/code.ts"
import {
  attribute,
  DocumentTooLarge,
  type Element,
  elementOf,
  findElement,
  isElement,
  isText,
  type Node,
  type Parent,
  textOf
} from "./html/Tree.ts"
import { cellsOf, hasWideContent, maxColumns, tableOf } from "./html/tables.ts"

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

const formula = (element: Element): Pair => {
  const tex = visibleText(textOf(element))
  const mark = isBlock(element) ? "$$" : "$"
  return tex === "" ? empty : { markdown: `${mark}${tex}${mark}`, text: tex }
}

const isFootnoteLink = (element: Element): boolean =>
  attribute(element, "role") === "doc-noteref" || /#/.test(attribute(element, "href") ?? "")

/** True if all of the element is a link to a place on the page. */
const isFootnoteMark = (element: Element): boolean => {
  const link = findElement(element, ({ tagName }) => tagName === "a")
  const outer = element.parentNode !== null && isElement(element.parentNode) ? element.parentNode : undefined
  if (link === undefined) return outer?.tagName === "a" && isFootnoteLink(outer) && textOf(outer) === textOf(element)
  return isFootnoteLink(link) && /^[[(]?.*[\])]?$/.test(textOf(element))
}

/** Renders as it is written, because no address follows it. */
const footnoteMark = (text: string): Pair => {
  const mark = `[${text.replace(/^[[(]|[\])]$/g, "")}]`
  return { markdown: mark, text: mark }
}

const ordinal = /^(?:st|nd|rd|th|er|re|e|ère|ème|eme|o|a|os|as|º|ª)$/i

const textAt = (siblings: ReadonlyArray<Node>, index: number): string => {
  const node = siblings[index]
  return node === undefined ? "" : textOf(node)
}

/** Ordinals, trademarks and chemical formulas mean the same without a sign. */
const isPlainScript = (name: string, text: string, before: string, after: string): boolean => {
  if (!/[\p{L}\p{N}]/u.test(text) || /^(?:TM|SM)$/i.test(text)) return true
  if (name === "sup") return ordinal.test(text) && /(?:\d|\b[IVXLCDM]+|\b[NM])$/.test(before)
  return /^\d+$/.test(text) && /\p{L}$|\)$/u.test(before) && !/^\d/.test(after)
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
    const link = this.links.size < maxPageLinks && !this.links.has(url) ? boundLink({ url, text: label }) : undefined
    if (link !== undefined) this.links.set(url, link.text)
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

  #inlineElement(element: Element, siblings: ReadonlyArray<Node>, index: number): Pair {
    const name = element.tagName
    if (name === "br") return same("\n")
    if (name === "a") return this.#link(element)
    if (name === "img") {
      const alt = visibleText(attribute(element, "alt") ?? "")
        .replace(/\s+/g, " ")
        .trim()
      return { markdown: escapeInline(alt), text: "" }
    }
    if (name === "math") return formula(element)
    if (name === "sup" || name === "sub") return this.#script(element, siblings, index)
    if (/^(?:code|kbd|samp|tt|var)$/.test(name)) {
      const code = codeText(element).replace(/\s+/g, " ")
      if (code === "" || name === "var") return this.inline(element)
      const isLinked = findElement(element, ({ tagName }) => tagName === "a") !== undefined
      return isLinked ? this.inline(element) : { markdown: codeSpan(code), text: code }
    }
    const mark = emphasis[name]
    return mark === undefined ? this.inline(element) : this.#marked(element, mark)
  }

  /** A power, an index or a footnote's mark. Without a sign, `10<sup>23</sup>` would be another number. */
  #script(element: Element, siblings: ReadonlyArray<Node>, index: number): Pair {
    const inner = this.inline(element)
    const text = inner.text.trim()
    if (isFootnoteMark(element)) return footnoteMark(text)
    const sign = element.tagName === "sup" ? "^" : "_"
    if (isPlainScript(element.tagName, text, textAt(siblings, index - 1), textAt(siblings, index + 1))) return inner
    const isSingle = /^[-−–+]?[\p{L}\p{N}.,]+$/u.test(text)
    const [open, close] = isSingle ? [sign, ""] : [`${sign}(`, ")"]
    return { markdown: `${open}${inner.markdown.trim()}${close}`, text: `${open}${text}${close}` }
  }

  inline(parent: Element): Pair {
    return joined(
      parent.childNodes.map((node, index, siblings) => this.#inlineNode(node, siblings, index)),
      ""
    )
  }

  #inlineNode(node: Node, siblings: ReadonlyArray<Node>, index: number): Pair {
    if (isText(node)) {
      const text = visibleText(node.value).replace(/\s+/g, " ")
      return this.#counted({ markdown: escapeInline(text), text })
    }
    if (!isElement(node)) return empty
    if (!isBlock(node) || node.tagName === "math") return this.#inlineElement(node, siblings, index)
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
    for (const [index, node] of parent.childNodes.entries()) {
      const holdsBlocks = isElement(node) && (isBlock(node) || hasBlock(node))
      if (!holdsBlocks) {
        run.push(this.#inlineNode(node, parent.childNodes, index))
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
      const code = codeText(element)
      const fence = fenceOf(code)
      const language = attribute(element, "data-lang") ?? ""
      return code.trim() === "" ? [] : [{ markdown: `${fence}${language}\n${code}\n${fence}`, text: code }]
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
    if (name === "math") return [formula(element)]
    if (name === "a") return this.#linkedBlocks(element)
    if (name === "dt") return [this.#paragraph([this.#marked(element, "**")])]
    return this.blocks(element)
  }

  /** A link around blocks becomes a link of its heading, or else of its first text. */
  #linkedBlocks(link: Element): ReadonlyArray<Pair> {
    const title =
      findElement(link, (each) => headings.has(each.tagName) && textOf(each) !== "") ??
      findElement(link, (each) => textOf(each) !== "" && !hasBlock(each))
    if (title !== undefined && findElement(title, ({ tagName }) => tagName === "a") === undefined) {
      const inner = elementOf("a", "", { href: attribute(link, "href") ?? "" })
      inner.childNodes = title.childNodes
      title.childNodes = [inner]
    }
    return this.blocks(link)
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
    const { columns, rows } = tableOf(table)
    const isLayout =
      attribute(table, "role") === "presentation" ||
      columns < 2 ||
      rows.length < 2 ||
      columns > maxColumns ||
      rows.flat().some((cell) => cell !== undefined && hasWideContent(cell))
    if (isLayout) return cellsOf(table).flatMap((cell) => this.blocks(cell))
    const pairs = new Map<Element, Pair>()
    const pairOf = (cell: Element | undefined): Pair => {
      if (cell === undefined) return empty
      const pair = pairs.get(cell) ?? this.#paragraph([this.inline(cell)])
      pairs.set(cell, pair)
      return this.#counted(pair)
    }
    const lines = rows.map((cells) => {
      const filled = cells.map(pairOf)
      return {
        markdown: `| ${filled.map(({ markdown }) => markdown.replace(/ *\n/g, "<br>").replace(/\|/g, "\\|")).join(" | ")} |`,
        text: filled.map(({ text }) => text.replace(/\n/g, " ")).join("\t")
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

export const render = (root: Parent, base: string): Rendering => {
  const renderer = new Renderer(base)
  const blocks = renderer.blocks(root)
  // A rule at the end was above something that is gone.
  const last = blocks.findLastIndex(({ markdown }) => markdown !== "---")
  const { markdown, text } = joined(blocks.slice(0, last + 1), "\n\n")
  if (markdown.length > maxCharacters) throw new DocumentTooLarge()
  return {
    markdown: markdown.trim(),
    text: text.trim(),
    links: Array.from(renderer.links, ([url, label]) => ({ url, text: label }))
  }
}
