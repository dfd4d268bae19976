import { mathmlToTex } from "./mathml.ts"
import {
  attribute,
  type Element,
  elementOf,
  findElement,
  isElement,
  isText,
  type Node,
  type Parent,
  replaceNodes,
  textOf,
  textsOf,
  walk
} from "./Tree.ts"

/**
 * Replaces formulas by HTML elements named `math` that contain TeX alone, once for each formula. The generators put
 * several copies of a formula on the page, and hide all but one.
 */

interface Formula {
  readonly tex: string
  readonly isDisplay: boolean
}

const hasClass = (element: Element, pattern: RegExp): boolean => pattern.test(attribute(element, "class") ?? "")

/** MediaWiki and LaTeXML wrap all formulas in a style. */
const cleanTex = (tex: string): string => {
  const [, inner] = /^\s*\{\s*\\(?:display|text)style\b([\s\S]*)\}\s*$/.exec(tex) ?? []
  return (inner ?? tex)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join("\n")
}

const isMath = ({ tagName }: Element): boolean => tagName === "math"

const readMath = (math: Element): Formula => {
  const annotation = findElement(
    math,
    ({ attrs, tagName }) =>
      tagName === "annotation" && attrs.some(({ name, value }) => name === "encoding" && /tex/i.test(value))
  )
  const stated = annotation === undefined ? (attribute(math, "alttext") ?? attribute(math, "data-latex")) : undefined
  const tex = annotation === undefined ? (stated ?? mathmlToTex(math)) : [...textsOf(annotation)].join("")
  return { tex, isDisplay: attribute(math, "display") === "block" || attribute(math, "mode") === "display" }
}

const delimited = /^\s*(?:\\\(([\s\S]+)\\\)|\\\[([\s\S]+)\\\]|\$\$([^$]+)\$\$)\s*$/
const dollars = /^\s*\$([^$]+)\$\s*$/
const mathNames =
  /(?:^|\s)(?:math|arithmatex|math-container|math-inline|math-display|js-(?:inline|display)-math|js-render-math)(?=\s|$)/
const displayNames = /(?:^|\s)(?:display|math-display|js-display-math|katex-display|mwe-math-element-block)(?=\s|$)/
const imageNames = /(?:^|\s)(?:latex|tex|mwe-math-fallback-image-(?:inline|display))(?=\s|$)/

/** TeX that a script of the page would typeset, alone in an element. */
const readDelimited = (element: Element): Formula | undefined => {
  if (element.childNodes.length !== 1 || !element.childNodes.every(isText)) return undefined
  const text = [...textsOf(element)].join("")
  const [, inline, block, dollarBlock] = delimited.exec(text) ?? []
  const isNamed = hasClass(element, mathNames)
  const tex = inline ?? block ?? dollarBlock ?? (isNamed ? dollars.exec(text)?.[1] : undefined)
  if (tex !== undefined) return { tex, isDisplay: inline === undefined && (block ?? dollarBlock) !== undefined }
  const isTex = element.tagName === "code" && (attribute(element, "data-math-style") !== undefined || isNamed)
  return isTex ? { tex: text, isDisplay: attribute(element, "data-math-style") === "display" } : undefined
}

const containerNames = /(?:^|\s)(?:katex(?:-display)?|mwe-math-element)(?=\s|$)/

const countMath = (element: Element): number => {
  let count = 0
  walk(element, (each) => {
    if (isMath(each)) count++
    return !isMath(each)
  })
  return count
}

/** The formula that an element of a known generator shows. */
const readFormula = (element: Element): Formula | undefined => {
  const name = element.tagName
  if (isMath(element)) return readMath(element)
  if (name === "script") {
    const [, mode] = /^math\/tex\b(.*)$/i.exec(attribute(element, "type") ?? "") ?? []
    return mode === undefined ? undefined : { tex: [...textsOf(element)].join(""), isDisplay: /display/i.test(mode) }
  }
  if (name === "img" && hasClass(element, imageNames)) {
    const tex = attribute(element, "alt")
    return tex === undefined ? undefined : { tex, isDisplay: hasClass(element, /fallback-image-display/) }
  }
  const isContainer = name === "mjx-container" || (/^(?:span|div|p)$/.test(name) && hasClass(element, containerNames))
  const maths = isContainer ? countMath(element) : 0
  if (!isContainer || maths > 1) return readDelimited(element)
  const math = findElement(element, isMath)
  const image = findElement(element, ({ tagName }) => tagName === "img")
  const drawn = findElement(element, (each) => hasClass(each, /(?:^|\s)katex-html(?=\s|$)/))
  if (math === undefined && image === undefined && drawn === undefined) return undefined
  const isDisplay =
    hasClass(element, displayNames) ||
    attribute(element, "display") === "true" ||
    (image !== undefined && hasClass(image, /fallback-image-display/))
  // The image is what people see. The formula beside it is hidden on the page.
  const tex = image === undefined ? undefined : attribute(image, "alt")
  const found = math === undefined ? { tex: textOf(element), isDisplay: false } : readMath(math)
  return { tex: tex ?? found.tex, isDisplay: isDisplay || found.isDisplay }
}

const isDrawing = (node: Node): boolean => isElement(node) && hasClass(node, /(?:^|\s)MathJax(?:_\w+)?(?=\s|$)/)

/** The drawing that MathJax 2 made of the script after it. */
const drawingsIn = (parent: Parent): ReadonlyArray<Node> => {
  const found: Array<Node> = []
  let drawings: Array<Node> = []
  for (const node of parent.childNodes) {
    if (isDrawing(node)) drawings.push(node)
    else if (isElement(node)) {
      if (node.tagName === "script" && /^math\//i.test(attribute(node, "type") ?? "")) found.push(...drawings)
      drawings = []
    }
  }
  return found
}

const skipped = new Set(["pre", "textarea", "svg"])

export const readFormulas = (root: Parent): void => {
  const replacements = new Map<Node, ReadonlyArray<Node>>()
  walk(root, (element) => {
    if (skipped.has(element.tagName) || replacements.has(element)) return false
    for (const drawing of drawingsIn(element)) replacements.set(drawing, [])
    const formula = readFormula(element)
    if (formula === undefined) return true
    const tex = cleanTex(formula.tex)
    const attributes = formula.isDisplay ? { role: "math" } : {}
    replacements.set(element, tex === "" ? [] : [elementOf("math", tex, attributes)])
    return false
  })
  replaceNodes(root, replacements)
}
