import { type DefaultTreeAdapterTypes, defaultTreeAdapter, html, parse, type TreeAdapter } from "parse5"

// This folder works on parse5's tree, because its plain objects cost a tenth of the DOM that Readability needs.

export type Node = DefaultTreeAdapterTypes.ChildNode
export type Element = DefaultTreeAdapterTypes.Element
export type Text = DefaultTreeAdapterTypes.TextNode
export type Parent = DefaultTreeAdapterTypes.ParentNode
export type Root = DefaultTreeAdapterTypes.Document

export class DocumentTooLarge extends Error {}

const limits = {
  /** More than a page of 5 MiB that people wrote has. The largest measured page has 90,000. */
  elements: 100_000,
  /** Of those in `keptAttributes`. The largest measured page has 97,000. */
  attributes: 250_000,
  /** Limited, because the parser searches all open elements at many tags. */
  open: 5_000,
  /** Deeper elements become text, so that recursive functions do not overflow the stack. */
  depth: 500,
  exactChildren: 4
}

const keptAttributes = [
  ...["alt", "alttext", "aria-controls", "aria-expanded", "aria-hidden", "aria-label", "class", "colspan", "content"],
  ...["data-bid", "data-code-block-lang", "data-code-lang", "data-enlighter-language", "data-footnote-backref"],
  ...["data-lang", "data-language", "data-latex", "data-line", "data-line-number", "data-math-style", "data-pid"],
  ...["data-sid", "data-syntaxhighlighter-params", "data-type", "datetime", "dir", "display", "encoding", "hidden"],
  ...["href", "http-equiv", "id", "itemprop", "lang", "mode", "name", "open", "property", "pubdate", "rel", "role"],
  ...["rowspan", "scope", "shadowrootmode", "slot", "src", "srcset", "start", "style", "title", "type", "xml:lang"]
] as const

/** The only attributes in a tree. Others, often most of a page's, would take a third of its memory. */
export type AttributeName = (typeof keptAttributes)[number]

const isKept: ReadonlySet<string> = new Set(keptAttributes)

const htmlNamespace = "http://www.w3.org/1999/xhtml"

export const isElement = (node: Node | Parent): node is Element => "tagName" in node
/** The parser keeps the children of a template in its `content`. */
export const isTemplate = (element: Element): element is DefaultTreeAdapterTypes.Template => "content" in element
export const isText = (node: Node): node is Text => node.nodeName === "#text"
/** Excludes SVG and MathML, some of whose elements have names of HTML. */
export const isHtml = (element: Element): boolean => element.namespaceURI === htmlNamespace

export const attribute = (element: Element, name: AttributeName): string | undefined =>
  element.attrs.find((each) => each.name === name)?.value

/** The element's classes and ID, as far as it has them. */
export const namesOf = (element: Element): string =>
  `${attribute(element, "class") ?? ""} ${attribute(element, "id") ?? ""}`

/** Limits the size of a document's tree, which takes up to a hundred times the memory of its text. */
export class ElementCount {
  #elements = 0
  #attributes = 0

  /** Throws `DocumentTooLarge`. */
  add(attributes: number): void {
    this.#attributes += attributes
    if (++this.#elements > limits.elements || this.#attributes > limits.attributes) throw new DocumentTooLarge()
  }
}

/** `push` would reserve room for 17 children in every element that has one, which is half of a tree's memory. */
const appendChild = (parent: Parent, node: Node): void => {
  const { childNodes } = parent
  if (childNodes.length < limits.exactChildren) parent.childNodes = childNodes.concat([node])
  else childNodes.push(node)
  node.parentNode = parent
}

type Attributes = Element["attrs"]

/** The copy has no room for more: parse5's lists reserve it for 17. */
const keptOf = (attrs: Attributes): Attributes => attrs.filter(({ name }) => isKept.has(name)).slice()

/** V8 keeps joined strings as a tree, which takes ten times the memory of its words, until a character is read. */
const flattenString = (text: string): number => text.charCodeAt(0)

const boundedAdapter = (): TreeAdapter<DefaultTreeAdapterTypes.DefaultTreeAdapterMap> => {
  const count = new ElementCount()
  let open = 0
  /** The parser adds to it word by word. */
  let growing: Text | undefined
  return {
    ...defaultTreeAdapter,
    createElement: (name, namespace, attrs) => {
      const kept = keptOf(attrs)
      count.add(kept.length)
      if (growing !== undefined) flattenString(growing.value)
      growing = undefined
      return defaultTreeAdapter.createElement(name, namespace, kept)
    },
    createCommentNode: (text) => {
      count.add(0)
      return defaultTreeAdapter.createCommentNode(text)
    },
    adoptAttributes: (element, attrs) => defaultTreeAdapter.adoptAttributes(element, keptOf(attrs)),
    appendChild,
    insertText: (parent, text) => {
      const last = parent.childNodes.at(-1)
      if (last !== undefined && isText(last)) {
        last.value += text
        growing = last
      } else appendChild(parent, defaultTreeAdapter.createTextNode(text))
    },
    onItemPush: () => {
      if (++open > limits.open) throw new DocumentTooLarge()
    },
    onItemPop: () => {
      open--
    }
  }
}

/** Adds the children so that `pop` returns them in document order. A spread would fail for very many. */
export const pushChildren = (waiting: Array<Node | Parent>, parent: Parent): void => {
  for (const child of parent.childNodes.toReversed()) waiting.push(child)
}

/** In document order. Skips an element's content if `visit` returns false. */
export const walk = (root: Parent, visit: (element: Element, depth: number) => boolean): void => {
  const waiting: Array<{ readonly node: Element; readonly depth: number }> = []
  const enter = (parent: Parent, depth: number) => {
    for (const node of parent.childNodes.toReversed()) if (isElement(node)) waiting.push({ node, depth })
  }
  enter(root, 1)
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { depth, node } = next
    if (visit(node, depth)) enter(node, depth + 1)
  }
}

export function* textsOf(root: Node | Parent): Generator<string> {
  const waiting: Array<Node | Parent> = [root]
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if ("value" in node) yield node.value
    if ("childNodes" in node) pushChildren(waiting, node)
  }
}

export const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim()

export const textOf = (root: Node | Parent): string => oneLine([...textsOf(root)].join(""))

export const visibleLength = (root: Parent): number => {
  let length = 0
  for (const text of textsOf(root)) length += text.trim().length
  return length
}

export const removeNodes = (
  root: Parent,
  test: (node: Node, index: number, siblings: ReadonlyArray<Node>) => boolean
): void => {
  const waiting: Array<Parent> = [root]
  for (let parent = waiting.pop(); parent !== undefined; parent = waiting.pop()) {
    const kept = parent.childNodes.filter((node, index, siblings) => !test(node, index, siblings))
    // A filtered list takes more room than an exact one.
    if (kept.length < parent.childNodes.length) parent.childNodes = kept
    for (const node of parent.childNodes) if (isElement(node)) waiting.push(node)
  }
}

export const replaceNodes = (root: Parent, replacements: ReadonlyMap<Node, ReadonlyArray<Node>>): void => {
  if (replacements.size === 0) return
  const waiting: Array<Parent> = [root]
  for (let parent = waiting.pop(); parent !== undefined; parent = waiting.pop()) {
    const holder = parent
    parent.childNodes = parent.childNodes.flatMap((node) => {
      const others = replacements.get(node)
      if (others === undefined) {
        if (isElement(node)) waiting.push(node)
        return [node]
      }
      for (const other of others) other.parentNode = holder
      return others
    })
  }
}

/** An element with a text alone. */
export const elementOf = (
  tagName: string,
  text: string,
  attributes: { readonly [name: string]: string } = {}
): Element => {
  const attrs = Object.entries(attributes).map(([name, value]) => ({ name, value }))
  const element = defaultTreeAdapter.createElement(tagName, html.NS.HTML, attrs)
  if (text !== "") defaultTreeAdapter.insertText(element, text)
  return element
}

/** No script runs, despite `scriptingEnabled`. */
export const parseTree = (source: string): Root =>
  parse(source, { treeAdapter: boundedAdapter(), scriptingEnabled: true })

export const flatten = (root: Parent): void =>
  walk(root, (element, depth) => {
    if (depth < limits.depth) return true
    const texts = [...textsOf(element)]
    element.childNodes = []
    defaultTreeAdapter.insertText(element, texts.join(" "))
    return false
  })

export const findElement = (root: Parent, test: (element: Element) => boolean): Element | undefined => {
  let found: Element | undefined
  walk(root, (element) => {
    if (found === undefined && test(element)) found = element
    return found === undefined
  })
  return found
}
