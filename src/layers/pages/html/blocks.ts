import { type Element, findElement, isElement, type Node } from "./Tree.ts"

/** The elements that HTML's style sheet shows as blocks. Unknown and custom elements are inline, as in browsers. */
export const blockElements = new Set(
  (
    "address article aside blockquote body caption center col colgroup dd details dialog dir div dl dt fieldset " +
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu nav ol optgroup " +
    "option p plaintext pre search section summary table tbody td tfoot th thead tr ul xmp"
  ).split(" ")
)

export const headings = new Set(["h1", "h2", "h3", "h4", "h5", "h6"])

export const lists = new Set(["ul", "ol", "menu", "dl"])

/** A formula on a line of its own is the only inline element that is a block. */
export const isBlock = (node: Node): node is Element =>
  isElement(node) && (blockElements.has(node.tagName) || (node.tagName === "math" && node.attrs.length > 0))

export const hasBlock = (element: Element): boolean => findElement(element, isBlock) !== undefined
