import { headings } from "./blocks.ts"
import { causesWithin, measureAll } from "./prose.ts"
import {
  attribute,
  type Element,
  findElement,
  isElement,
  type Node,
  namesOf,
  type Parent,
  removeNodes,
  textOf,
  visibleLength,
  walk
} from "./Tree.ts"

const chromeWords = new Set(
  (
    "related newsletter newsletters share sharing shares social byline bylines author bio ad ads advert adverts advertisement " +
    "advertising sponsor sponsored sponsors subscribe subscription recirculation recirc recommended " +
    "recommendations trending popular breadcrumb breadcrumbs cookie cookies consent gallery galleries slideshow " +
    "slideshows carousel slider timestamp dateline postinfo cta signup copyright disclaimer"
  ).split(" ")
)

/** A block with a larger share of the page's text is kept, regardless of its class (R60). */
const maxShare = 0.2
/** The same of the text outside navigation, headers and footers, which may be most of a page's text (R82). */
const maxInnerShare = 1 / 3
/** All blocks together may have at most this share of the prose (R82). */
const maxProseShare = 2 / 3

const words = (name: string): ReadonlyArray<string> =>
  name
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/)

/** A name that says what a text is about does not say what its element is for. */
const subject = /(?:^|\s)(?:tag|category|topic)-[\w-]+/g

/** Quoted text is content even in such a block: an embedded post may be in a block named "social". */
const quotes = (element: Element): boolean =>
  findElement(element, ({ tagName }) => tagName === "blockquote") !== undefined

const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "")

const maxElementsToHeading = 10

/** The heading that the element begins with. */
const headingOf = (element: Element): Element | undefined => {
  let next: Element | undefined = element
  for (let count = 0; next !== undefined && count < maxElementsToHeading; count++) {
    const children: ReadonlyArray<Element> = next.childNodes.filter(isElement)
    const heading = children.slice(0, 2).find(({ tagName }) => headings.has(tagName))
    if (heading !== undefined) return heading
    next = children[0]
  }
  return undefined
}

/** True if the names come from the text: those of headings, and of sections whose id is their heading's slug (R82). */
const hasNamesOfText = (element: Element): boolean => {
  if (headings.has(element.tagName)) return true
  const id = attribute(element, "id")
  if (id === undefined || id === "") return false
  const heading = headingOf(element)
  if (heading === undefined) return false
  return slugOf(id).replace(/^user-content-|-\d+$/g, "") === slugOf(textOf(heading)).replace(/-\d+$/, "")
}

const chromeWordOf = (element: Element): string | undefined =>
  words(namesOf(element).replace(subject, " ")).find((word) => chromeWords.has(word))

const neverChrome = new Set(["html", "body", "main", "article"])

const withoutNames = (element: Element): void => {
  element.attrs = element.attrs.filter(({ name }) => name !== "class" && name !== "id")
}

/** Removes page furniture, and names by which Readability would remove what is kept. */
export const removeChrome = (root: Parent): void => {
  const measures = measureAll(root)
  const maxLength = Math.min(maxShare * visibleLength(root), maxInnerShare * (measures.get(root)?.text ?? 0))
  const found = new Map<string, Array<Element>>()
  walk(root, (element) => {
    if (hasNamesOfText(element)) withoutNames(element)
    const word = neverChrome.has(element.tagName) ? undefined : chromeWordOf(element)
    if (word === undefined) return true
    if ((measures.get(element)?.text ?? 0) <= maxLength && !quotes(element)) {
      const elements = found.get(word) ?? []
      elements.push(element)
      found.set(word, elements)
      return false
    }
    withoutNames(element)
    return true
  })
  const certain = causesWithin(maxProseShare, found, measures, root)
  const removed = new Set<Node>()
  for (const [word, elements] of found) {
    for (const element of elements) {
      if (certain.has(word)) removed.add(element)
      else withoutNames(element)
    }
  }
  removeNodes(root, (node) => removed.has(node))
}
