import { headings, inlineElements, lists } from "./blocks.ts"
import { type Element, isElement, isText, type Node, type Parent, removeNodes, textOf, walk } from "./Tree.ts"

const isBlock = (node: Node): node is Element => isElement(node) && !inlineElements.has(node.tagName)

const isLine = (element: Element): boolean => {
  let hasBlock = false
  walk(element, (each) => {
    hasBlock ||= isBlock(each)
    return !hasBlock
  })
  return !hasBlock
}

const hasLetters = /[\p{L}\p{N}]/u

/** True if all text of an element is links or a publication time. */
const isLinksOnly = (element: Element): boolean => {
  let hasLink = false
  const waiting: Array<Node> = [...element.childNodes]
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (isText(node) && hasLetters.test(node.value)) return false
    if (!isElement(node)) continue
    if (node.tagName === "img") return false
    if (node.tagName === "a" || node.tagName === "time") hasLink ||= hasLetters.test(textOf(node))
    else for (const child of node.childNodes) waiting.push(child)
  }
  return hasLink
}

const label =
  /^(?:related|read (?:more|next|also)|see also|also|more|photos?|images?|pictures?|video|credits?|source|tags?|topics?|filed under|posted|published|updated|last updated|share|follow)\b[^.!?]{0,80}:|^©|^(?:photo|image) (?:by|credit|copyright)\b|:$/iu

const maxLabelCharacters = 100

/** Short lines and links are content in these elements. */
const exempt = new Set(["figure", "table", "pre", "blockquote", "dl"])

interface Line {
  readonly element: Element
  readonly text: string
}

const linesOf = (root: Parent): ReadonlyArray<Line> => {
  const lines: Array<Line> = []
  walk(root, (element) => {
    if (exempt.has(element.tagName)) {
      lines.push({ element, text: "" })
      return false
    }
    if (!isBlock(element) || !isLine(element)) return !inlineElements.has(element.tagName)
    const text = textOf(element)
    if (text !== "") lines.push({ element, text })
    return false
  })
  return lines
}

/** Removes lines of only links, lists of them, labels such as "Related:", and headings with nothing left below. */
export const trimArticle = (root: Element): void => {
  const gone = new Set<Node>()
  walk(root, (element) => {
    if (exempt.has(element.tagName)) return false
    if (!lists.has(element.tagName)) return true
    const items = element.childNodes.filter(isElement)
    if (items.length === 0 || !items.every((item) => isLinksOnly(item))) return true
    gone.add(element)
    return false
  })
  const inList = (element: Element): boolean => {
    for (let each: Parent | null = element; each !== null && each !== root; ) {
      if (gone.has(each as Element)) return true
      each = "parentNode" in each ? each.parentNode : null
    }
    return false
  }
  const lines = linesOf(root)
  for (let index = lines.length - 1; index >= 0; index--) {
    const line = lines[index]
    if (line === undefined || line.text === "" || inList(line.element)) continue
    const { element, text } = line
    const next = lines[index + 1]
    const isLabel = text.length <= maxLabelCharacters && label.test(text)
    if (headings.has(element.tagName)) {
      if (next === undefined || ((text.endsWith(":") || isLabel) && inList(next.element))) gone.add(element)
    } else if (element.tagName !== "li" && isLinksOnly(element)) gone.add(element)
    else if (isLabel && (!text.endsWith(":") || next === undefined || inList(next.element))) gone.add(element)
  }
  removeNodes(root, (node) => gone.has(node))
}
