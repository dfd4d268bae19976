import { visibleText } from "../../../domain/pages/visibleText.ts"
import { blockElements } from "./blocks.ts"
import {
  attribute,
  type Element,
  elementOf,
  findElement,
  isElement,
  isText,
  type Node,
  namesOf,
  type Parent,
  replaceNodes,
  textOf,
  walk
} from "./Tree.ts"

/** Names of languages that a class may state without a prefix such as `language-`. */
const languages = new Set(
  (
    "abap ada apache applescript arduino asm assembly astro awk bash basic bat batch bicep c c# c++ clj clojure cmake cobol " +
    "coffeescript console cpp cs csharp csharp css csv cuda curl d dart delphi diff docker dockerfile dos elixir elm " +
    "erb erlang ex f# fish fortran fsharp gherkin glsl go golang gradle graphql groovy haml handlebars haskell hcl hlsl " +
    "hs html http ini java javascript jinja jinja2 js json json5 jsonc jsx julia kotlin kt latex less lisp lua " +
    "make makefile markdown matlab md mdx mermaid mysql nginx nim nix objc objective-c objectivec ocaml pascal perl " +
    "pgsql php pl plaintext plsql postgresql powershell prisma prolog properties proto protobuf ps1 puppet py pycon " +
    "python python3 qml r razor rb rego rs rst ruby rust sas sass scala scheme scss sh shell shellsession solidity sql " +
    "svelte swift systemverilog tcl terraform tex text toml ts tsql tsx twig typescript vb vba vbnet verilog vhdl vim " +
    "vue wasm wgsl xml xquery yaml yml zig zsh"
  ).split(" ")
)

const noLanguage = new Set("none auto default undefined nohighlight no-highlight plain text plaintext txt".split(" "))

const statedLanguage =
  /(?:^|[\s-])(?:lang(?:uage)?|highlight(?:-source|-text|-lang)?|brush|sourcecode|src|code)[-:]\s?([a-z0-9+#.-]{1,30})(?=\s|$|;)/i
/** Codes of human languages, which `lang` usually states. */
const humanLanguage =
  /^(?:ar|cs|da|de|el|en|es|fa|fi|fr|he|hi|hu|id|it|ja|ko|nl|no|pl|pt|ro|ru|sv|th|tr|uk|vi|zh)(?:-|$)/i

const languageAttributes = [
  "data-lang",
  "data-language",
  "data-code-lang",
  "data-code-block-lang",
  "data-enlighter-language"
] as const

const languageStatedBy = (element: Element): string | undefined => {
  const given = languageAttributes.map((name) => attribute(element, name)).find((value) => value !== undefined)
  if (given !== undefined) return given
  const lang = attribute(element, "lang")
  if (lang !== undefined && /^(?:pre|code)$/.test(element.tagName) && !humanLanguage.test(lang)) return lang
  const parameters = attribute(element, "data-syntaxhighlighter-params")
  const names = `${attribute(element, "class") ?? ""} ${parameters ?? ""}`
  const name = statedLanguage.exec(names)?.[1]
  if (name !== undefined) return name
  return names.split(/\s+/).find((each) => languages.has(each.toLowerCase()))
}

const wrapperLevels = 3

const languageOf = (code: Element): string => {
  const wrappers: Array<Element> = []
  const inner = findElement(code, ({ tagName }) => tagName === "code")
  for (let each: Parent | null = code; each !== null && wrappers.length <= wrapperLevels; ) {
    if (!isElement(each) || neverWrapper.has(each.tagName)) break
    wrappers.push(each)
    each = each.parentNode
  }
  for (const element of inner === undefined ? wrappers : [inner, ...wrappers]) {
    const name = languageStatedBy(element)?.toLowerCase()
    if (name === undefined || !/^[a-z0-9+#.-]{1,30}$/.test(name)) continue
    return noLanguage.has(name) ? "" : name
  }
  return ""
}

const neverWrapper = new Set(["body", "main", "article", "section", "td", "li"])

const numberName =
  /(?:^|[\s_-])(?:line-?_?(?:no|num|number)s?|linenodiv|linenos?|ln|lnt|gutter|hljs-ln-numbers|hljs-ln-n|blob-num|ec-line-number|react-code-line-number)(?=[\s_-]|$)|lineNumber/
const numbers = /^[\s\d.:+|-]*$/

const isLineNumber = (element: Element): boolean =>
  (numberName.test(namesOf(element)) || attribute(element, "data-line-number") !== undefined) &&
  numbers.test(textOf(element))

/** True for a table of code whose first cells count its lines. */
const countsLines = (rows: ReadonlyArray<Element>): boolean => {
  const firsts = rows.map((row) => Number.parseInt(textOf(row.childNodes.find(isElement) ?? row), 10))
  return (
    rows.length > 1 &&
    rows.every((row) => row.childNodes.filter(isElement).length > 1) &&
    firsts.every((number, index) => index === 0 || number === (firsts[index - 1] ?? 0) + 1)
  )
}

const rowsIn = (table: Element): ReadonlyArray<Element> => {
  const rows: Array<Element> = []
  walk(table, (element) => {
    if (element.tagName === "tr") rows.push(element)
    return element.tagName !== "tr"
  })
  return rows
}

const cellNames = new Set(["td", "th"])
const lineName = /(?:^|\s)(?:line|(?:token|code|view|cm)-line)(?=\s|$)/

/** Some style sheets show the `span` of a line as a block, without a line break in the text. */
const isLine = (node: Node): node is Element =>
  isElement(node) &&
  ((blockElements.has(node.tagName) && !cellNames.has(node.tagName)) ||
    (node.tagName === "span" &&
      (lineName.test(attribute(node, "class") ?? "") || attribute(node, "data-line") !== undefined)))

/** Text of code as a browser shows it: blocks, list items and rows are lines, and line numbers are left out. */
export const codeText = (root: Element): string => {
  const skipped = new Set<Node>()
  walk(root, (element) => {
    if (element.tagName === "button" || isLineNumber(element)) skipped.add(element)
    if (element.tagName !== "table") return true
    const rows = rowsIn(element)
    if (countsLines(rows)) for (const row of rows) skipped.add(row.childNodes.find(isElement) ?? row)
    return true
  })
  let text = ""
  const add = (parent: Element): void => {
    const hasLines = parent.childNodes.some(isLine)
    for (const node of parent.childNodes) {
      if (skipped.has(node)) continue
      if (isText(node)) {
        // Line breaks between the elements of lines are not lines.
        if (!hasLines || node.value.trim() !== "" || !node.value.includes("\n")) text += node.value
      } else if (isElement(node)) {
        const start = text.length
        if (isLine(node) && start > 0 && !text.endsWith("\n")) text += "\n"
        const before = text.length
        if (node.tagName === "br") text += "\n"
        add(node)
        const isInnermost = isLine(node) && findElement(node, isLine) === undefined
        if (isInnermost && (text.length === before || !text.endsWith("\n"))) text += "\n"
      }
    }
  }
  add(root)
  return visibleText(text).replace(/^\n+|\s+$/g, "")
}

const isBlockOfCode = (element: Element): boolean => {
  const name = element.tagName
  if (name === "pre" || name === "listing" || name === "xmp") return true
  return name === "code" && findElement(element, ({ tagName }) => blockElements.has(tagName)) !== undefined
}

/**
 * The code of a table with line numbers: the table if each row is a line after its number, or the second cell of its
 * only row if the first cell has all numbers.
 */
const codeBesideNumbers = (table: Element): Element | undefined => {
  const rows = rowsIn(table)
  const isNumbered = (row: Element) => {
    const [number, line] = row.childNodes.filter(isElement)
    return number !== undefined && line !== undefined && isLineNumber(number) && textOf(line).length > 0
  }
  if (
    rows.length > 1 &&
    rows.some(isNumbered) &&
    rows.every((row) => isLineNumber(row.childNodes.find(isElement) ?? row))
  )
    return table
  const cells = rows[0]?.childNodes.filter(isElement) ?? []
  const [first, second] = cells
  if (rows.length !== 1 || cells.length !== 2 || first === undefined || second === undefined) return undefined
  const isNumbers = textOf(first) !== "" && /^[\d\s]+$/.test(textOf(first))
  const code = findElement(second, isBlockOfCode)
  return isNumbers && code !== undefined && textOf(code) === textOf(second) ? code : undefined
}

/** Names of the language, titles and buttons above a block of code are not part of the text. */
const isLabelOfCode = (node: Node): boolean =>
  isElement(node) &&
  (node.tagName === "button" ||
    (node.tagName === "span" && /(?:^|\s)lang(?=\s|$)/.test(attribute(node, "class") ?? "")))

/**
 * Replaces each block of code with a `pre` that only contains its text, with its language in `data-lang`. Later steps
 * would take the elements around lines, numbers and tokens for paragraphs, tables and links.
 */
export const readCode = (root: Parent): void => {
  const replacements = new Map<Node, ReadonlyArray<Node>>()
  walk(root, (element) => {
    const code = element.tagName === "table" ? codeBesideNumbers(element) : isBlockOfCode(element) ? element : undefined
    if (code === undefined) return true
    replacements.set(element, [
      elementOf("pre", codeText(code), { "data-lang": languageOf(code) || languageOf(element) })
    ])
    for (const sibling of element.parentNode?.childNodes.slice(0, 5) ?? []) {
      if (isLabelOfCode(sibling)) replacements.set(sibling, [])
    }
    return false
  })
  replaceNodes(root, replacements)
}
