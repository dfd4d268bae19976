import {
  attribute,
  type Element,
  isElement,
  isText,
  type Node,
  namesOf,
  removeNodes,
  visibleLength,
  walk
} from "./Tree.ts"

const around = new Set("nav footer aside button".split(" "))
const roles = /^(?:navigation|banner|contentinfo|complementary|search|menu|menubar|dialog|alert)$/i

const isAround = (node: Node): boolean =>
  isElement(node) && (around.has(node.tagName) || roles.test(attribute(node, "role") ?? ""))

const minShare = 0.25

/** Removes navigation and footers from `body`. */
export const findMainRegion = (body: Element): Element => {
  removeNodes(body, isAround)
  const least = minShare * visibleLength(body)
  const found: Array<Element> = []
  const articles: Array<Element> = []
  walk(body, (element) => {
    if (element.tagName === "main" || attribute(element, "role") === "main") found.push(element)
    if (element.tagName === "article") articles.push(element)
    return element.tagName !== "article"
  })
  const [article] = articles
  if (articles.length === 1 && article !== undefined) found.push(article)
  const region = found.find((element) => visibleLength(element) >= least && visibleLength(element) > 0)
  if (region !== undefined) return region
  removeNodes(body, (node) => isElement(node) && node.tagName === "header" && node.parentNode === body)
  return body
}

const isComments = (element: Element): boolean => /(?:^|[^a-z])(?:comments?|disqus)(?![a-z])/i.test(namesOf(element))

export const proseLength = (root: Element): number => {
  let length = 0
  const count = (element: Element) => {
    for (const node of element.childNodes) if (isText(node)) length += node.value.trim().length
  }
  count(root)
  walk(root, (element) => {
    if (element.tagName === "a" || isComments(element)) return false
    count(element)
    return true
  })
  return length
}
