import {
  type Element,
  findElement,
  isElement,
  type Node,
  namesOf,
  type Parent,
  removeNodes,
  visibleLength
} from "./Tree.ts"

const chromeWords = new Set(
  (
    "related newsletter newsletters share sharing shares social byline bylines author bio ad ads advert adverts advertisement " +
    "advertising sponsor sponsored sponsors subscribe subscription recirculation recirc recommended " +
    "recommendations trending popular breadcrumb breadcrumbs cookie cookies consent gallery galleries slideshow " +
    "slideshows carousel slider timestamp dateline postinfo cta signup copyright disclaimer"
  ).split(" ")
)

/** A block with a larger share of the text is kept, regardless of its class. */
const maxShare = 0.2

const words = (name: string): ReadonlyArray<string> =>
  name
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/)

/** Quoted text is content even in such a block: an embedded post may be in a block named "social". */
const quotes = (element: Element): boolean =>
  findElement(element, ({ tagName }) => tagName === "blockquote") !== undefined

const isNamedChrome = (element: Element): boolean => words(namesOf(element)).some((word) => chromeWords.has(word))

const neverChrome = new Set(["html", "body", "main", "article"])

const isChrome = (node: Node, maxLength: number): boolean => {
  if (!isElement(node) || neverChrome.has(node.tagName) || !isNamedChrome(node)) return false
  if (visibleLength(node) > maxLength) return false
  if (!quotes(node)) return true
  // Readability would remove the block because of its name.
  node.attrs = node.attrs.filter(({ name }) => name !== "class" && name !== "id")
  return false
}

export const removeChrome = (root: Parent): void => {
  const maxLength = maxShare * visibleLength(root)
  removeNodes(root, (node) => isChrome(node, maxLength))
}
