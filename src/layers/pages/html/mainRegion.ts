import { measureAll } from "./prose.ts"
import { attribute, type Element, isElement, type Node, removeNodes, visibleLength, walk } from "./Tree.ts"

const around = new Set("nav footer aside button".split(" "))
const roles = /^(?:navigation|banner|contentinfo|complementary|search|menu|menubar|dialog)$/i

const isAround = (node: Node): boolean =>
  isElement(node) && (around.has(node.tagName) || roles.test(attribute(node, "role") ?? ""))

const minShare = 0.25
/** A region inside of another is better if it has nearly all of its prose. */
const minInnerShare = 0.8

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
  if (region === undefined) {
    removeNodes(body, (node) => isElement(node) && node.tagName === "header" && node.parentNode === body)
    return body
  }
  const measures = measureAll(region)
  const proseOf = (element: Element) => measures.get(element)?.prose ?? 0
  return (
    found.findLast((element) => proseOf(element) >= minInnerShare * proseOf(region) && proseOf(element) > 0) ?? region
  )
}
