import { type Element, isElement, textOf } from "./Tree.ts"

const group = (tex: string): string => (/^(?:[\p{L}\p{N}]|\\[a-z]+)$/iu.test(tex) ? tex : `{${tex}}`)

const relation = /^(?:[=<>≤≥≠≈≡∼≃→←⇒⇔↦∈∉⊂⊆⊃∪∩+±×·÷]|:=|<=|>=|!=)$/u

const operator = (text: string, isInfix: boolean): string => {
  if (isInfix && (relation.test(text) || /^[-−]$/.test(text))) return ` ${text} `
  return text === "," || text === ";" ? `${text} ` : text
}

/** Deeper formulas become text, so that the recursion does not overflow the stack. */
const maxDepth = 100

const rowOf = (elements: ReadonlyArray<Element>, depth: number): string =>
  elements
    .map((element, index) =>
      element.tagName === "mo"
        ? operator(textOf(element).replace(/[\u2061-\u2064]/g, ""), index > 0 && index < elements.length - 1)
        : toTex(element, depth)
    )
    .join("")
    .trim()

/** MathML's names without `mrow`-like elements, which only group. `parts` are the TeX of the children. */
const layouts: { readonly [name: string]: (parts: ReadonlyArray<string>) => string } = {
  msup: ([base = "", exponent = ""]) => `${group(base)}^${group(exponent)}`,
  msub: ([base = "", index = ""]) => `${group(base)}_${group(index)}`,
  msubsup: ([base = "", index = "", exponent = ""]) => `${group(base)}_${group(index)}^${group(exponent)}`,
  mfrac: ([above = "", below = ""]) => `\\frac{${above}}{${below}}`,
  mroot: ([inner = "", degree = ""]) => `\\sqrt[${degree}]{${inner}}`,
  munder: ([base = "", under = ""]) => `${base}_${group(under)}`,
  mover: ([base = "", over = ""]) => `${base}^${group(over)}`,
  munderover: ([base = "", under = "", over = ""]) => `${base}_${group(under)}^${group(over)}`,
  mtable: (rows) => `\\begin{matrix}${rows.join(" \\\\ ")}\\end{matrix}`,
  mtr: (cells) => cells.join(" & ")
}

const toTex = (element: Element, depth = 0): string => {
  const children = element.childNodes.filter(isElement)
  if (depth > maxDepth || children.length === 0) return textOf(element).replace(/[\u2061-\u2064]/g, "")
  if (element.tagName === "semantics") return toTex(children[0] ?? element, depth + 1)
  if (element.tagName === "msqrt") return `\\sqrt{${rowOf(children, depth + 1)}}`
  const layout = layouts[element.tagName]
  if (layout === undefined) return rowOf(children, depth + 1)
  return layout(children.map((child) => toTex(child, depth + 1)))
}

/** TeX for a formula that states none. Readable rather than complete: unknown elements keep their text. */
export const mathmlToTex = (math: Element): string => toTex(math)
