import { causesWithin, measureAll } from "./prose.ts"
import { hidesText, readDeclarations } from "./Style.ts"
import { StyleSheet } from "./StyleSheet.ts"
import { attribute, type Element, isElement, isText, type Node, type Parent, removeNodes, textOf } from "./Tree.ts"

/** `noscript` is empty when scripts run. */
const unseen = new Set(
  (
    "head script style noscript template iframe frame frameset object embed applet canvas audio video map area " +
    "datalist select option input textarea progress meter dialog svg"
  ).split(" ")
)

const offScreen =
  /(?:^|\s)(?:(?:[\w-]*-)?(?:sr-only|visually-?hidden|screen-?reader(?:s|-text|-only)?|hidden-visually|a-offscreen)|off-?screen|d-none)(?:_[\w-]+|--\w+)?(?=\s|$)/i

const shownWide = /(?:^|\s)d-(?:sm|md|lg|xl|xxl)-(?!none)/

const hasOffScreenName = (element: Element): boolean => {
  const names = attribute(element, "class") ?? ""
  return offScreen.test(names) && !shownWide.test(names)
}

const isAriaHidden = (element: Element): boolean => attribute(element, "aria-hidden")?.trim().toLowerCase() === "true"

/** Elements inside can show their text again, as in emails, whose outer elements have a font size of zero. */
const inherited: ReadonlyArray<string> = ["visibility", "font-size", "font", "color"]

/**
 * Removes the text that inherits what hides it. Returns whether any element inside is shown again. `done` has the
 * elements inside that need no second visit.
 */
const keepShownAgain = (element: Element, done: Set<Node>): boolean => {
  if (done.has(element)) return true
  const names = [...readDeclarations(attribute(element, "style") ?? "").keys()].filter((name) =>
    inherited.includes(name)
  )
  const waiting: Array<Element> = [element]
  let isAnyShown = false
  for (let parent = waiting.pop(); parent !== undefined; parent = waiting.pop()) {
    parent.childNodes = parent.childNodes.filter((node) => !isText(node))
    for (const node of parent.childNodes) {
      if (!isElement(node)) continue
      const own = readDeclarations(attribute(node, "style") ?? "")
      if (names.some((name) => own.has(name)) && !hidesText(own)) isAnyShown = true
      else {
        done.add(node)
        waiting.push(node)
      }
    }
  }
  return isAnyShown
}

/** The reason that an element may be hidden. `"certain"` and `"inherited"` need no style sheet or script to be true. */
const causeOf = (element: Element, sheet: StyleSheet): string | undefined => {
  if (unseen.has(element.tagName)) {
    return element.tagName !== "dialog" || attribute(element, "open") === undefined ? "certain" : undefined
  }
  if (attribute(element, "hidden") !== undefined) return "certain"
  const style = attribute(element, "style")
  const rules = sheet.rulesFor(element)
  if (style !== undefined || rules !== undefined) {
    const inline = readDeclarations(style ?? "")
    const { opacity, ...others } = Object.fromEntries(inline)
    const inlineWithoutOpacity = new Map(Object.entries(others))
    if (hidesText(inlineWithoutOpacity)) {
      const ownOnly = new Map([...inlineWithoutOpacity].filter(([name]) => !inherited.includes(name)))
      return hidesText(ownOnly) ? "certain" : "inherited"
    }
    if (rules !== undefined && hidesText(new Map([...rules.declarations, ...inlineWithoutOpacity]))) {
      return `rule ${rules.selectors}`
    }
    if (opacity !== undefined && hidesText(inline)) return "opacity"
  }
  if (hasOffScreenName(element)) return "name"
  return isAriaHidden(element) ? "aria-hidden" : undefined
}

const isBlank = (node: Node): boolean => node.nodeName === "#comment" || (isText(node) && node.value.trim() === "")

/** The nearest node before or after that is not blank, at most three nodes away. */
const neighbor = (siblings: ReadonlyArray<Node>, index: number, step: 1 | -1): Node | undefined => {
  for (let at = index + step; at >= 0 && at < siblings.length && Math.abs(at - index) <= 3; at += step) {
    const node = siblings[at]
    if (node !== undefined && !isBlank(node)) return node
  }
  return undefined
}

/** True if the element's text is on the screen, and a visually hidden element beside it has it for screen readers. */
const hasHiddenTwin = (element: Element, siblings: ReadonlyArray<Node>, index: number, sheet: StyleSheet): boolean =>
  textOf(element) !== "" &&
  [neighbor(siblings, index, -1), neighbor(siblings, index, 1)].some((node) => {
    if (node === undefined || !isElement(node) || isAriaHidden(node) || unseen.has(node.tagName)) return false
    return causeOf(node, sheet) !== undefined && textOf(node) !== ""
  })

const maxHiddenShare = 0.5

/** Removes what a reader of the page does not see (R60), by attributes and by `sheet`, within the limits of R82. */
export const removeHidden = (root: Parent, sheet = new StyleSheet()): void => {
  const doubtful = new Map<string, Array<Element>>()
  const done = new Set<Node>()
  removeNodes(root, (node, index, siblings) => {
    if (!isElement(node)) return node.nodeName === "#comment"
    const cause = causeOf(node, sheet)
    if (cause === "inherited") return !keepShownAgain(node, done)
    if (cause === undefined || cause === "certain") return cause !== undefined
    if (cause === "aria-hidden" && hasHiddenTwin(node, siblings, index, sheet)) return false
    const elements = doubtful.get(cause) ?? []
    elements.push(node)
    doubtful.set(cause, elements)
    return false
  })
  if (doubtful.size === 0) return
  const causes = causesWithin(maxHiddenShare, doubtful, measureAll(root), root)
  const hidden = new Set<Node>(Array.from(causes).flatMap((cause) => doubtful.get(cause) ?? []))
  removeNodes(root, (node) => hidden.has(node))
}
