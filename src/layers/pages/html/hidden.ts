import { hidesText, readDeclarations } from "./Style.ts"
import { StyleSheet } from "./StyleSheet.ts"
import { attribute, type Element, isElement, type Parent, removeNodes } from "./Tree.ts"

/** `noscript` is empty when scripts run. */
const unseen = new Set(
  (
    "head script style noscript template iframe frame frameset object embed applet canvas audio video map area " +
    "datalist select option input textarea progress meter dialog svg"
  ).split(" ")
)

const offScreen =
  /(?:^|\s)(?:sr-only|visually-?hidden|screen-?reader(?:s|-text|-only)?|u-hidden-visually|off-?screen|d-none)(?=\s|$)/i

const shownWide = /(?:^|\s)d-(?:sm|md|lg|xl|xxl)-(?!none)/

const isHiddenElement = (element: Element, sheet: StyleSheet): boolean => {
  if (unseen.has(element.tagName)) return element.tagName !== "dialog" || attribute(element, "open") === undefined
  if (attribute(element, "hidden") !== undefined) return true
  if (attribute(element, "aria-hidden")?.trim().toLowerCase() === "true") return true
  const names = attribute(element, "class") ?? ""
  if (offScreen.test(names) && !shownWide.test(names)) return true
  const style = attribute(element, "style")
  const declared = sheet.declarationsFor(element)
  if (style === undefined && declared === undefined) return false
  return hidesText(new Map([...(declared ?? []), ...readDeclarations(style ?? "")]))
}

/** Removes what a reader of the page does not see (R60), by attributes and by `sheet`. */
export const removeHidden = (root: Parent, sheet = new StyleSheet()): void =>
  removeNodes(root, (node) => node.nodeName === "#comment" || (isElement(node) && isHiddenElement(node, sheet)))
