import { headings } from "./blocks.ts"
import {
  attribute,
  type Element,
  findElement,
  isElement,
  type Node,
  namesOf,
  type Parent,
  removeNodes,
  replaceNodes,
  textOf,
  visibleLength,
  walk
} from "./Tree.ts"

/**
 * Elements whose text later steps would drop although it is content, and signs beside content that are none.
 * Readability drops all buttons and asides.
 */

const hasLetters = /[\p{L}\p{N}]/u
const permalinkName =
  /(?:^|[\s_-])(?:header-?link|heading-?link|anchor(?:-?link)?|permalink|hash-?link|self-?link|header-?anchor)(?=[\s_-]|$)/i
const backlinkName = /(?:^|\s)(?:footnote-back(?:ref|link)?|reversefootnote|data-footnote-backref)(?=\s|$)/

/** `¶` and `#` beside a heading or a definition, and `↩` in a footnote: links to a place on the page without words. */
const isSign = (node: Node): boolean => {
  if (!isElement(node) || node.tagName !== "a") return false
  const href = attribute(node, "href")
  if (href === undefined || !href.includes("#")) return false
  const text = textOf(node)
  if (backlinkName.test(namesOf(node)) || attribute(node, "data-footnote-backref") !== undefined) return true
  return text !== "" && !hasLetters.test(text) && !node.childNodes.some(isElement)
}

/** MediaWiki's, beside each heading. */
const isEditLink = (node: Node): boolean => isElement(node) && /(?:^|\s)mw-editsection(?=\s|$)/.test(namesOf(node))

/** Copy buttons and permalinks with words beside the text of a heading. */
const isBesideHeading = (node: Node, heading: Element): boolean => {
  if (!isElement(node)) return false
  const isControl = node.tagName === "button" || (node.tagName === "a" && permalinkName.test(namesOf(node)))
  return isControl && textOf(node).length < textOf(heading).length
}

/** The panel that a button opens is the next element, or follows the element that contains only the button. */
const panelAfter = (button: Element): Element | undefined => {
  let each: Element = button
  for (let level = 0; level < 3; level++) {
    const parent = each.parentNode
    if (parent === null || !isElement(parent)) return undefined
    const index = parent.childNodes.indexOf(each)
    const next = parent.childNodes.slice(index + 1).find(isElement)
    if (next !== undefined) return next
    each = parent
  }
  return undefined
}

const minPanelCharacters = 20

/** True for the question above an answer that the button unfolds. Menus unfold links. */
const opensText = (button: Element): boolean => {
  if (attribute(button, "aria-expanded") === undefined && attribute(button, "aria-controls") === undefined) return false
  const panel = panelAfter(button)
  if (panel === undefined) return false
  let linked = 0
  walk(panel, (element) => {
    if (element.tagName === "a") linked += visibleLength(element)
    return element.tagName !== "a"
  })
  return visibleLength(panel) - linked >= minPanelCharacters
}

const rename = (element: Element, name: string): void => {
  element.tagName = name
  element.nodeName = name
}

const warningName =
  /(?:^|[^a-z])(?:note|notice|tip|hint|info|important|warn(?:ing)?|caution|danger|attention|alert|error|success|admonition|callout|remember|definition|example|topic|footnotes?|starlight-aside)(?![a-z])/i
const contentRole = /^(?:note|alert|doc-(?!toc|pagelist|index|pagebreak).*)$/i

/** True for a note or warning: text that belongs to the text around it. */
const isNote = (aside: Element): boolean =>
  contentRole.test(attribute(aside, "role") ?? "") ||
  warningName.test(`${namesOf(aside)} ${attribute(aside, "data-type") ?? ""} ${attribute(aside, "aria-label") ?? ""}`)

const texts = new Set(["main", "article"])
/** The heading, if it is all that the element contains: Readability drops such wrappers. */
const onlyHeading = (wrapper: Element): Element | undefined => {
  if (wrapper.tagName !== "div") return undefined
  const heading = wrapper.childNodes.find((node): node is Element => isElement(node) && headings.has(node.tagName))
  return heading !== undefined && textOf(wrapper) === textOf(heading) ? heading : undefined
}

const outside = new Set(["nav", "header", "footer"])

export const normalize = (root: Parent): void => {
  removeNodes(root, (node) => isSign(node) || isEditLink(node))
  const unwrapped = new Map<Node, ReadonlyArray<Node>>()
  walk(root, (element) => {
    const heading = onlyHeading(element)
    if (heading !== undefined) unwrapped.set(element, [heading])
    return heading === undefined
  })
  replaceNodes(root, unwrapped)
  const visit = (parent: Parent, inText: boolean): void =>
    walk(parent, (element) => {
      const name = element.tagName
      if (headings.has(name) || name === "summary" || name === "dt") {
        removeNodes(element, (node) => isBesideHeading(node, element))
        walk(element, (each) => {
          if (each.tagName === "button") rename(each, "span")
          return true
        })
        return false
      }
      if (name === "button" && opensText(element)) rename(element, "p")
      if (name === "aside" && inText && isNote(element)) {
        rename(element, "div")
        element.attrs = []
      }
      // Readability drops alerts.
      if (inText && contentRole.test(attribute(element, "role") ?? "")) {
        element.attrs = element.attrs.filter(({ name }) => name !== "role")
      }
      if (!inText && texts.has(name)) {
        visit(element, true)
        return false
      }
      return !outside.has(name) || inText
    })
  visit(root, findElement(root, ({ tagName }) => texts.has(tagName)) === undefined)
}
