import { bareTags, fields, list, markdownText, string } from "./Document.ts"
import type { Package } from "./Packages.ts"

/** A sentence or two about a page or a member, by its path below /docs/ or by its name. */
export type Summaries = ReadonlyMap<string, string>

const docs = "https://developer.mozilla.org/docs/"

const maxSummaryChars = 240

/** The first paragraph of a comment, without stars and tags. */
const firstParagraph = (comment: string): string => {
  const text = comment
    .replace(/\*\/\s*$/, "")
    .replace(/^\s*\/?\*+[ \t]?/gm, "")
    .replace(/\{@\w+ ([^}|]*)[^}]*\}/g, "$1")
    .replace(/^\s*@[\s\S]*$/m, "")
  return markdownText(text.trim().split(/\n\s*\n/)[0] ?? "")
}

/** The first sentences that fit, or the whole text if the first sentence does not fit. */
const sentences = (text: string): string => {
  if (text.length <= maxSummaryChars) return text
  const head = text.slice(0, maxSummaryChars)
  const stop = head.lastIndexOf(". ")
  return stop === -1 ? text : head.slice(0, stop + 1)
}

/** The declarations of the DOM carry the first sentence of each page of MDN, and its address. */
export const readDomSummaries = (typescript: Package): Summaries => {
  const summaries = new Map<string, string>()
  for (const path of ["lib/lib.dom.d.ts", "lib/lib.webworker.d.ts"]) {
    for (const [comment] of typescript.text(path).matchAll(/\/\*\*(?:[^*]|\*(?!\/))*\*\//g)) {
      const page = /\[MDN Reference\]\(https:\/\/developer\.mozilla\.org\/docs\/([^)\s]+)\)/.exec(comment)?.[1]
      const text = firstParagraph(comment)
      if (page !== undefined && !summaries.has(page) && /^\w.* /.test(text) && !text.startsWith("MDN Reference")) {
        summaries.set(page, sentences(text))
      }
    }
  }
  return summaries
}

const member = /^\s*(?:readonly |get |set )*(?:\[Symbol\.(\w+)\]|(\w+))\??[(<:]/

/**
 * The uses of the members of the ECMAScript built-ins: `Array.filter` is a member of the prototype, `ArrayConstructor.from` a
 * static one. The comment stands right above the member.
 */
export const readEcmaScriptSummaries = (typescript: Package): Summaries => {
  const summaries = new Map<string, string>()
  const libs = typescript.paths.filter((name) => /^lib\/lib\.(?:es\d+|esnext)\b.*\.d\.ts$/.test(name))
  for (const path of libs) {
    let owner = ""
    let comment = ""
    for (const line of typescript.text(path).split("\n")) {
      const opened = /^\s*(?:declare |export )*(?:namespace|interface|var)\s+(\w+)[\s<]/.exec(line)?.[1]
      if (opened !== undefined) owner = opened
      const found = opened === undefined && !/^\s*\/?\*/.test(line) ? member.exec(line) : null
      const isComment = /^\s*\/?\*/.test(line)
      if (found !== null && comment !== "") {
        const key = `${owner}.${found[1] === undefined ? (found[2] ?? "") : `Symbol.${found[1]}`}`
        const text = firstParagraph(comment)
        if (text.includes(" ") && !summaries.has(key)) summaries.set(key, sentences(text))
      }
      comment = isComment ? `${/^\s*\/\*\*/.test(line) ? "" : comment}${line}\n` : ""
    }
  }
  return summaries
}

const textOf = (description: unknown): string =>
  typeof description === "string" ? description : string(fields(description).value)

/** The uses of elements, attributes, properties, pseudo-classes and at-rules. */
export const readWebSummaries = (webData: Package): Summaries => {
  const summaries = new Map<string, string>()
  const html = fields(webData.json("data/browsers.html-data.json"))
  const css = fields(webData.json("data/browsers.css-data.json"))
  const entries = [
    html.tags,
    html.globalAttributes,
    css.properties,
    css.atDirectives,
    css.pseudoClasses,
    css.pseudoElements
  ]
  for (const value of entries.flatMap(list)) {
    const entry = fields(value)
    const [reference] = list(entry.references).map((each) => string(fields(each).url))
    const text = bareTags(markdownText(textOf(entry.description)))
    if (reference?.startsWith(docs) && text.includes(" ")) summaries.set(reference.slice(docs.length), sentences(text))
  }
  return summaries
}
