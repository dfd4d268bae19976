import { nameOf, termsOf, together, type Word, wordsOf } from "./terms.ts"

/** The texts of a document that are searched. */
export interface DocumentTexts {
  readonly url: string
  readonly title: string
  readonly description: string
  readonly content: string
}

/** Documents are divided into so many samples by their addresses. A search for the most common words reads some of them. */
export const samples = 256

/**
 * A title of so many terms, without the names of section and site, is a short one. Of the documents with a common word,
 * those with it in a short title are the best: a search for the word reads these and no others, if they are enough.
 */
const maxShortTitleTerms = 4

/** Words of each field that are read. */
const maxWords = { title: 60, url: 30, description: 400, content: 8_000 }

/** The site's own name stands last in most titles, behind one of these. */
const titleSeparator = /\s+[|·•–—-]\s+/

/** The longest name of a site or a section behind a dash. More words are a part of the title: "git-add - Add file contents". */
const maxSiteWords = 3

/**
 * A title without the names of its section and its site: "CSS grid layout" of "CSS grid layout - CSS | MDN". Most pages
 * of a site have these names, so that they say little about a page, and they would make its title look longer than it is.
 */
const headAndSite = (title: string): { readonly head: string; readonly site: string } => {
  const bar = /^(.*\S)\s+\|\s+(.*)$/s.exec(title)
  const [, beforeBar = title, behindBar = ""] = bar ?? []
  const dash = /^(.*\S)\s+[·•–—-]\s+(.*)$/s.exec(beforeBar)
  const [, beforeDash = beforeBar, behindDash = ""] = dash ?? []
  return behindDash !== "" && wordsOf(behindDash, maxSiteWords + 1).length <= maxSiteWords
    ? { head: beforeDash, site: `${behindDash} ${behindBar}` }
    : { head: beforeBar, site: behindBar }
}

/** The sample of an address: its FNV-1a. */
export const sampleOf = (url: string): number => {
  let hash = 0x811c9dc5
  for (let index = 0; index < url.length; index++) hash = Math.imul(hash ^ url.charCodeAt(index), 0x01000193)
  return (hash >>> 0) % samples
}

/** The words of an address without what most addresses have: scheme, `www`, top-level domain, query and fragment. */
const addressParts = (url: string): { readonly text: string; readonly last: string } => {
  const [host = "", ...path] = url
    .replace(/^https?:\/\//i, "")
    .replace(/[?#].*$/s, "")
    .split("/")
  const labels = host
    .replace(/^www\./i, "")
    .split(".")
    .slice(0, -1)
  const segments = path.filter((segment) => segment !== "")
  const last = segments.at(-1)?.replace(/\.(?:html?|md|php|aspx?)$/i, "") ?? ""
  return { text: [...labels, ...segments].join(" ").replace(/%[0-9a-f]{2}/gi, " "), last }
}

/** Words at the end of a title that say what kind of thing it names: "Window: fetch() method" names `fetch`. */
const kind =
  / (?:api|attribute|class|command|component|constructor|directive|element|event|function|header|hook|interface|keyword|license|method|module|object|operator|package|property|rule|standard|statement|type)s?$/i

/** The short name that a title gives of the long one: "Cross-Origin Resource Sharing (CORS)". */
const abbreviation = /\((\p{Lu}[\p{L}\p{N}]*\p{Lu}[\p{L}\p{N}]*)\)/u

/** The names in a title: the whole, without the site, behind a colon, its abbreviation, and without parentheses and kind. */
const titleNames = (title: string): ReadonlyArray<string> => {
  const [head = ""] = title.split(titleSeparator)
  const colon = head.indexOf(": ")
  const parts = [head, ...(colon === -1 ? [] : [head.slice(colon + 2)])]
  const bare = parts.map((part) => part.replace(/\([^)]*\)/g, " ").trim())
  const all = [
    title,
    ...parts,
    ...bare,
    abbreviation.exec(head)?.[1] ?? "",
    ...bare.map((part) => part.replace(/ (?:html|css|svg|http)(?= )/i, "").replace(kind, ""))
  ]
  return [...new Set(all)]
}

const namesOf = (title: string, lastSegment: string): ReadonlyArray<string> => {
  const marked = (mark: string, texts: ReadonlyArray<string>) =>
    texts.flatMap((text) => {
      const name = nameOf(wordsOf(text, maxWords.title))
      return name === undefined ? [] : [`${mark}${name}`]
    })
  return [...new Set([...marked("^", titleNames(title)), ...marked("/", [lastSegment])])]
}

const neighbours = (words: ReadonlyArray<Word>): ReadonlyArray<string> =>
  words.flatMap((word, index) => {
    const next = words[index + 1]
    const term = next === undefined ? undefined : together(word, next)
    return term === undefined ? [] : [term]
  })

const line = (terms: Iterable<string>): string => ` ${[...terms].join(" ")} `

/**
 * The terms of a document as one text, from which the database makes its index and the ranking counts. It has a line for
 * each field, and in the first line terms that stand for more than a word:
 *
 * - `^name` the title or a part of it, `/name` the last part of the address: a search for exactly this finds the document,
 * - `=term` a term of the title,
 * - `~term` a term of a short title,
 * - `term` two neighbours of the title written together,
 * - `%n` the sample that the document belongs to.
 *
 * Terms have spaces on both sides, so that a phrase is found as a piece of the text. They are letters, digits, `.`, `+`
 * and `#`: none of the signs that mean something in Postgres's tsvector.
 */
export const documentTerms = ({ content, description, title, url }: DocumentTexts): string => {
  const address = addressParts(url)
  const titleWords = wordsOf(title, maxWords.title)
  const titleTerms = termsOf(titleWords)
  const { head, site } = headAndSite(title)
  const pairs = neighbours(titleWords)
  const headTerms = head === title ? titleTerms : termsOf(wordsOf(head, maxWords.title))
  const marked = new Set([
    ...titleTerms.map((term) => `=${term}`),
    ...(headTerms.length > maxShortTitleTerms ? [] : headTerms.map((term) => `~${term}`))
  ])
  const read = (text: string, limit: number) => line(termsOf(wordsOf(text, limit)))
  return [
    line([...namesOf(title, address.last), ...marked, ...pairs, `%${sampleOf(url)}`]),
    line(headTerms),
    read(`${address.text} ${site}`, maxWords.url),
    read(description, maxWords.description),
    read(content, maxWords.content)
  ].join("\n")
}
