import { Readability } from "@mozilla/readability"
import { parseHTML } from "linkedom"
import { defaultTreeAdapter, html } from "parse5"
import { type AttributeName, attribute, type Element, isElement, isHtml, isText, type Parent } from "./Tree.ts"

/** The part of linkedom's DOM used here. TypeScript's DOM library would make browser globals look available. */
interface DomNode {
  readonly nodeType: number
  readonly localName: string
  readonly nodeValue: string | null
  readonly childNodes: Iterable<DomNode>
  readonly attributes: Iterable<{ readonly name: string; readonly value: string }>
  setAttribute(name: string, value: string): void
  appendChild(node: DomNode): void
  remove(): void
}

interface DomDocument {
  readonly head: DomNode
  readonly body: DomNode
  readonly documentElement: DomNode
  createElement(name: string): DomNode
  createTextNode(text: string): DomNode
}

const kept: ReadonlySet<string> = new Set<AttributeName>([
  ...(["class", "id", "role", "itemprop", "rel", "href", "src", "srcset", "alt", "title", "lang", "dir"] as const),
  ...(["datetime", "colspan", "rowspan", "start", "scope", "data-lang", "data-language"] as const)
])

/** A name that both parsers accept. Other elements become a `div`. */
const plainName = /^[a-z][a-z0-9-]*$/

const toDom = (document: DomDocument, from: Parent, to: DomNode): void => {
  for (const child of from.childNodes) {
    if (isText(child)) to.appendChild(document.createTextNode(child.value))
    if (!isElement(child) || !isHtml(child)) continue
    const element = document.createElement(plainName.test(child.tagName) ? child.tagName : "div")
    for (const { name, value } of child.attrs) if (kept.has(name)) element.setAttribute(name, value)
    to.appendChild(element)
    toDom(document, child, element)
  }
}

const fromDom = (from: DomNode, to: Element): Element => {
  for (const child of from.childNodes) {
    if (child.nodeType === 3) defaultTreeAdapter.insertText(to, child.nodeValue ?? "")
    if (child.nodeType !== 1) continue
    const attrs = Array.from(child.attributes, ({ name, value }) => ({ name, value }))
    const element = defaultTreeAdapter.createElement(child.localName, html.NS.HTML, attrs)
    defaultTreeAdapter.appendChild(to, element)
    fromDom(child, element)
  }
  return to
}

/** Above this, Readability takes too long, and its DOM too much memory. */
const maxElements = 20_000

const countElements = (root: Parent): number => {
  let count = 0
  const waiting: Array<Parent> = [root]
  for (let parent = waiting.pop(); parent !== undefined; parent = waiting.pop()) {
    for (const child of parent.childNodes) if (isElement(child)) count = waiting.push(child) && count + 1
  }
  return count
}

/** Undefined if Readability finds none. Does not change `body`. */
export const findArticle = (body: Element, title: string): Element | undefined => {
  if (countElements(body) > maxElements) return undefined
  const document: DomDocument = parseHTML("<!doctype html><html><head></head><body></body></html>").document
  const heading = document.createElement("title")
  heading.appendChild(document.createTextNode(title))
  document.head.appendChild(heading)
  for (const name of ["class", "id"] as const) {
    const value = attribute(body, name)
    if (value !== undefined) document.body.setAttribute(name, value)
  }
  // Replacing the body's content in place would report each new node to the document.
  const { body: empty, documentElement } = document
  empty.remove()
  toDom(document, body, empty)
  documentElement.appendChild(empty)
  const reading = new Readability<DomNode>(document, {
    disableJSONLD: true,
    keepClasses: true,
    serializer: (node) => node
  })
  const content = reading.parse()?.content
  if (content === null || content === undefined) return undefined
  return fromDom(content, defaultTreeAdapter.createElement("div", html.NS.HTML, []))
}
