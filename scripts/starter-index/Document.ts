export interface Document {
  readonly url: string
  readonly title: string
  readonly description: string
}

export const maxDescriptionChars = 300
const minSentenceChars = 40

export type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The members of a JSON object; none when the value is anything else. */
export const fields = (value: unknown): Fields => (isFields(value) ? value : {})

export const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

export const string = (value: unknown): string => (typeof value === "string" ? value : "")

/** The strings of a value that may be one string or a list of them. */
export const strings = (value: unknown): ReadonlyArray<string> =>
  (Array.isArray(value) ? value : [value]).filter((item) => typeof item === "string")

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', nbsp: " ", "#39": "'" }

/** Text of an HTML fragment: tags dropped, the entities our sources use decoded. */
export const htmlText = (html: string): string =>
  oneLine(html.replace(/<\/?[a-z][^>]*>/gi, "").replace(/&(#?\w+);/g, (whole, name) => entities[String(name)] ?? whole))

export const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim()

// Removes the angle brackets around element names, because programs that show the text would read them as markup.
export const bareTags = (text: string): string => text.replace(/<(\/?[a-z@][^<>]*?)\s*\/?>/gi, "$1")

/** Text of the little Markdown that descriptions carry: links, code, emphasis. */
export const markdownText = (markdown: string): string =>
  oneLine(
    bareTags(
      markdown
        .replace(/!\[[^\]]*\]\([^)]*\)/g, "")
        .replace(/\[([^\]]+)\]\([^)]*\)/g, "$1")
        .replace(/\[([^\]]+)\]\[[^\]]*\]/g, "$1")
        .replace(/`+([^`]*)`+/g, "$1")
        .replace(/(\*\*|__)(?=\S)(.*?\S)\1/g, "$2")
        .replace(/(^|\s)[*_](?=\S)([^*_]*\S)[*_](?=[\s.,;:)]|$)/g, "$1$2")
    )
  )

export const sentence = (text: string): string => (text === "" || /[.!?…]["'”)]?$/.test(text) ? text : `${text}.`)

/** Cuts at the end of a sentence if one is far enough in, or else between words with an ellipsis. */
export const shorten = (text: string, maxChars: number): string => {
  if (text.length <= maxChars) return text
  const head = text.slice(0, maxChars)
  const stop = Math.max(...[". ", "! ", "? "].map((mark) => head.lastIndexOf(mark)))
  if (stop >= minSentenceChars && !/\b(e\.g|i\.e|etc|vs)$/.test(head.slice(0, stop))) return head.slice(0, stop + 1)
  const words = text.slice(0, maxChars - 1)
  return `${words.slice(0, words.lastIndexOf(" ")).replace(/[\s,;:(–-]+$/, "")}…`
}

/** Joins sentences in order of weight. Always keeps the first, and later sentences as long as they fit. */
export const describe = (...sentences: ReadonlyArray<string>): string => {
  let text = ""
  for (const each of sentences.map((part) => sentence(oneLine(part)))) {
    if (each === "" || text.includes(each)) continue
    const room = maxDescriptionChars - text.length - (text === "" ? 0 : 1)
    const part = each.length <= room ? each : room > 120 ? shorten(each, room) : ""
    if (part !== "") text = text === "" ? part : `${text} ${part}`
  }
  return text
}

export const enumerate = (items: ReadonlyArray<string>, last: "and" | "or" = "and"): string =>
  items.length < 2 ? (items[0] ?? "") : `${items.slice(0, -1).join(", ")} ${last} ${items.at(-1) ?? ""}`

export const withArticle = (noun: string): string => `${/^[aeio]/i.test(noun) ? "an" : "a"} ${noun}`

/** "Chrome 80 or earlier" for the data's "≤80". */
export const withVersion = (product: string, version: string): string =>
  version.startsWith("≤") ? `${product} ${version.slice(1)} or earlier` : `${product} ${version}`

/** "css-grid_layout" and "getElementById" style names as words. */
export const words = (name: string): string => name.replace(/[-_]+/g, " ").trim()

export const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)
