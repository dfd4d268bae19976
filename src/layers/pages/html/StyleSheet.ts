import { type Declarations, readDeclarations } from "./Style.ts"
import { attribute, type Element } from "./Tree.ts"

interface Rule {
  readonly selector: string
  readonly tag: string
  readonly id: string
  readonly classes: ReadonlyArray<string>
  readonly declarations: Declarations
}

const limits = { characters: 1024 * 1024, rules: 5_000 }

/** Excludes sizes and opacity, which sheets use for content that scripts unfold or fade in, and for layouts. */
const hiding = new Set(["display", "visibility", "position", "left", "top", "text-indent", "clip", "clip-path"])

/** One element name, ID and classes, without combinators or states. Other selectors are ignored. */
const compound = /^([a-z][a-z0-9]*)?((?:[.#][\w-]+)+)$/i

/** The rules for screens of any size. Rules inside other at-rules are ignored. */
const rulesText = (css: string): string => {
  const source = css.slice(0, limits.characters).replace(/\/\*[\s\S]*?(?:\*\/|$)/g, "")
  const kept: Array<string> = []
  let [start, depth, skipped] = [0, 0, 0]
  for (let at = 0; at < source.length; at++) {
    if (source[at] === "{") {
      const head = source.slice(start, at).trim()
      depth++
      if (
        skipped === 0 &&
        head.startsWith("@") &&
        !/^@(?:media\s+(?:only\s+)?(?:screen|all)\s*$|layer\b|supports\b)/i.test(head)
      ) {
        skipped = depth
      } else if (skipped === 0 && !head.startsWith("@")) kept.push(`${head}{`)
      start = at + 1
    } else if (source[at] === "}") {
      if (skipped === 0 && source.slice(start, at).trim() !== "") kept.push(`${source.slice(start, at)}}`)
      if (skipped === depth) skipped = 0
      depth = Math.max(0, depth - 1)
      start = at + 1
    } else if (source[at] === ";" && depth === 0) start = at + 1
  }
  return kept.join("")
}

const specificity = ({ classes, id, tag }: Rule): number =>
  (id === "" ? 0 : 10_000) + 10 * classes.length + (tag === "" ? 0 : 1)

export class StyleSheet {
  readonly #rules = new Map<string, Array<Rule>>()
  #count = 0

  add(css: string): void {
    for (const [, selectors = "", body = ""] of rulesText(css).matchAll(/([^{}]+)\{([^{}]*)\}/g)) {
      const all = readDeclarations(body)
      const declarations = new Map([...all].filter(([name]) => hiding.has(name)))
      if (declarations.size === 0) continue
      for (const selector of selectors.split(",")) this.#addRule(selector.trim(), declarations)
    }
  }

  #addRule(selector: string, declarations: Declarations): void {
    const [, tag = "", names = ""] = compound.exec(selector) ?? []
    if (names === "" || this.#count >= limits.rules) return
    const id = /#([\w-]+)/.exec(names)?.[1] ?? ""
    const classes = Array.from(names.matchAll(/\.([\w-]+)/g), ([, name = ""]) => name)
    const key = id === "" ? `.${classes[0] ?? ""}` : `#${id}`
    const rules = this.#rules.get(key) ?? []
    rules.push({ selector, tag: tag.toLowerCase(), id, classes, declarations })
    this.#rules.set(key, rules)
    this.#count++
  }

  /** Undefined if no rule matches. */
  rulesFor(element: Element): { readonly selectors: string; readonly declarations: Declarations } | undefined {
    if (this.#count === 0) return undefined
    const id = attribute(element, "id") ?? ""
    const classes = new Set((attribute(element, "class") ?? "").split(/\s+/))
    const keys = [`#${id}`, ...Array.from(classes, (name) => `.${name}`)]
    const matching = keys
      .flatMap((key) => this.#rules.get(key) ?? [])
      .filter(
        (rule) =>
          (rule.tag === "" || rule.tag === element.tagName) &&
          (rule.id === "" || rule.id === id) &&
          rule.classes.every((name) => classes.has(name))
      )
    if (matching.length === 0) return undefined
    matching.sort((one, other) => specificity(one) - specificity(other))
    return {
      selectors: matching.map(({ selector }) => selector).join(),
      declarations: new Map(matching.flatMap(({ declarations }) => [...declarations]))
    }
  }
}
