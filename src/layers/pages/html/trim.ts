import { hasBlock, headings, isBlock, lists } from "./blocks.ts"
import { type Element, isElement, isText, type Node, type Parent, removeNodes, textOf, walk } from "./Tree.ts"

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

/** The whole text before the colon of a label. */
const label =
  /^\(?(?:(?:related|recommended|more)(?: (?:articles?|stories|posts?|links?|content|reading|topics?|coverage|news|on this|from us))?|(?:read|see|watch|listen)(?: (?:more|next|also))|also (?:read|see|on)|(?:photos?|images?|pictures?|videos?|credits?|source)(?: (?:credits?|courtesy|source|by))?|(?:tags?|topics?|categor(?:y|ies)|keywords?)|(?:filed (?:under|in))|(?:last )?(?:posted|published|updated)(?: (?:on|in|by|at))?|share(?: (?:this|on|via))?|follow(?: (?:us|on))?)\s*:\s*/iu
/** Words of an interface, alone on a line. */
const control =
  /^(?:advert(?:isement|ising)?s?|anzeige|werbung|publicidad|publicité|share|comments?|captions?|close|(?:image|photo|slide) \d+ of \/? ?\d+)$/iu
const credit = /^©|^(?:photo|image) (?:by|credit|copyright)\b/iu

const dated = /^(?:last )?(?:posted|published|updated)\b[^.!?]{0,40}(?:\b\d{4}\b|\d:\d{2})[^!?]{0,20}$/iu

/** A label says what is beside it: alone, or before links, names or dates. Before a sentence it belongs to the text. */
const isLabel = (text: string): boolean => {
  if (text.length > maxLabelCharacters) return false
  if (control.test(text) || credit.test(text) || dated.test(text)) return true
  const [start] = label.exec(text) ?? []
  if (start === undefined) return false
  const rest = text.slice(start.length)
  return !/[.!?…]["”'’)]*$/.test(rest) || rest.split(" ").length < minSentenceWords
}

const minSentenceWords = 4
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
    if (!isBlock(element) || hasBlock(element)) return isBlock(element) || hasBlock(element)
    const text = textOf(element)
    if (text !== "") lines.push({ element, text })
    return false
  })
  return lines
}

/** Removes lines of only links, lists of them, labels such as "Related:", and headings with nothing left below. */
export const trimArticle = (root: Element): void => {
  removeNodes(root, (node) => isElement(node) && node.tagName === "nav")
  const gone = new Set<Node | Parent>()
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
      if (gone.has(each)) return true
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
    const isBeforeGone = next === undefined || inList(next.element)
    const endsWithColon = text.endsWith(":") && text.length <= maxLabelCharacters
    if (headings.has(element.tagName)) {
      if (next === undefined || ((endsWithColon || isLabel(text)) && isBeforeGone)) gone.add(element)
    } else if (element.tagName !== "li" && isLinksOnly(element)) gone.add(element)
    else if (isLabel(text) || (endsWithColon && isBeforeGone)) gone.add(element)
  }
  removeNodes(root, (node) => gone.has(node))
}
