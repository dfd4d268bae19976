import { parseSite } from "../options/Sites.ts"
import { siteTerm } from "./DocumentTerms.ts"
import { formsOf, isStopWord } from "./languages.ts"
import { fold, isUnspaced, phraseText, type Word, wordsOf } from "./words.ts"

export interface QuerySlot {
  readonly terms: ReadonlyArray<string>
  /** The word that spelling correction may change, if any. */
  readonly word: string | undefined
  /** Occurrences in the query; below 1 for a name joined from several words. */
  readonly times: number
  readonly role: "wanted" | "required" | "excluded"
}

export interface QueryTerms {
  readonly slots: ReadonlyArray<QuerySlot>
  readonly phrases: ReadonlyArray<string>
  readonly excludedPhrases: ReadonlyArray<string>
  /** As `parseSite` returns them. */
  readonly sites: ReadonlyArray<string>
  readonly excludedSites: ReadonlyArray<string>
}

const maxWords = 200
const maxOperators = 8

/** A longer query is a passage of text, in which `-`, quotes and `site:` are not operators. */
const maxWordsOfOperators = 8

/** Weights relative to the parts: for a name written joined (`flatMap`), and for two neighboring words. */
const compoundTimes = 0.5
const joinedTimes = 0.15

const piecePattern = /(?<=^|\s)(-?)"(?!\s)([^"]*)(?<!\s)"(?=\s|$)|(\S+)/g
const sitePattern = /^(-?)site:(\S+)$/i

interface Piece {
  readonly kind: "words" | "phrase" | "excluded" | "site" | "excludedSite"
  readonly text: string
}

const pieceOf = ([, minus, quoted, word = ""]: RegExpMatchArray): Piece => {
  if (quoted !== undefined) return { kind: minus === "-" ? "excluded" : "phrase", text: quoted }
  const [, not, site] = sitePattern.exec(word) ?? []
  if (site !== undefined) return { kind: not === "-" ? "excludedSite" : "site", text: site }
  return /^-[^-]/u.test(word) ? { kind: "excluded", text: word.slice(1) } : { kind: "words", text: word }
}

const piecesOf = (query: string): ReadonlyArray<Piece> => {
  const unquoted = query.replace(piecePattern, (piece, _, quoted?: string) => (quoted === undefined ? piece : " "))
  if (unquoted.trim().split(/\s+/).length > maxWordsOfOperators) return [{ kind: "words", text: query }]
  return Array.from(query.matchAll(piecePattern), pieceOf)
}

const synonyms = new Map(
  [
    ["postgres", "postgresql"],
    ["js", "javascript"],
    ["ts", "typescript"],
    ["regex", "regexp"],
    ["k8s", "kubernetes"],
    ["db", "database"],
    ["repo", "repository"],
    ["config", "configuration"],
    ["param", "parameter"],
    ["env", "environment"],
    ["docs", "documentation"],
    ["auth", "authentication"],
    ["a11y", "accessibility"],
    ["i18n", "internationalization"],
    ["l10n", "localization"]
  ].flatMap(
    ([short = "", long = ""]): ReadonlyArray<readonly [string, string]> => [
      [short, long],
      [long, short]
    ]
  )
)

/** Keyed by the first term, so that a repeated word is one slot with a higher count. */
class Slots {
  readonly #slots = new Map<string, QuerySlot>()
  readonly #language: string

  constructor(language: string) {
    this.#language = language
  }

  forms(part: string): ReadonlyArray<string> {
    if (isUnspaced(part)) return [part]
    const forms = formsOf(part, this.#language)
    // Adds the exact form, because documents in other languages have other stems.
    return forms.length > 1 ? forms : [...forms, `=${fold(part)}`]
  }

  add(part: string, times: number, role: QuerySlot["role"], mayBeMisspelt: boolean): void {
    const synonym = role === "wanted" ? synonyms.get(part) : undefined
    const terms = [...this.forms(part), ...(synonym === undefined ? [] : this.forms(synonym))]
    const key = `${role} ${terms[0]}`
    const before = this.#slots.get(key)
    if (before !== undefined) this.#slots.set(key, { ...before, times: before.times + times })
    else this.#slots.set(key, { terms, word: mayBeMisspelt ? part : undefined, times, role })
  }

  addSites(sites: ReadonlyArray<string>, role: QuerySlot["role"]): void {
    const terms = sites.map(siteTerm)
    if (terms.length > 0) this.#slots.set(`${role} site`, { terms, word: undefined, times: 0, role })
  }

  get all(): ReadonlyArray<QuerySlot> {
    return [...this.#slots.values()]
  }
}

const isFiller = ({ compounds, parts }: Word, language: string): boolean =>
  parts.length === 1 && compounds.length === 0 && isStopWord(fold(parts[0] ?? ""), language)

/** Joins neighboring words, so that "local storage" finds `localStorage`. */
const neighbors = (words: ReadonlyArray<Word>): ReadonlyArray<string> =>
  words.flatMap(({ parts }, index) => {
    const next = words[index + 1]
    const joined = [...parts, ...(next?.parts ?? [])].join("")
    return next === undefined || isUnspaced(joined) ? [] : [joined]
  })

export const readQuery = (query: string, language: string): QueryTerms => {
  const pieces = piecesOf(query)
  const texts = (kind: Piece["kind"]) => pieces.filter((piece) => piece.kind === kind).map(({ text }) => text)
  const slots = new Slots(language)
  const all = pieces
    .filter(({ kind }) => kind === "words" || kind === "phrase")
    .flatMap(({ text }) => wordsOf(text, maxWords))
    .slice(0, maxWords)
  const telling = all.filter((word) => !isFiller(word, language))
  const words = telling.length === 0 ? all : telling
  for (const { compounds, parts } of words) {
    for (const part of parts) slots.add(part, 1, "wanted", true)
    for (const compound of compounds) slots.add(compound, compoundTimes, "wanted", true)
  }
  for (const joined of neighbors(words)) slots.add(joined, joinedTimes, "wanted", false)
  const quoted = texts("phrase").slice(0, maxOperators)
  for (const { parts } of quoted.flatMap((text) => wordsOf(text, maxWords))) {
    for (const part of parts) slots.add(part, 0, "required", false)
  }
  const excluded = texts("excluded").slice(0, maxOperators)
  for (const text of excluded) {
    const [word, ...others] = wordsOf(text, maxWords)
    // Excludes only the joined name, because its parts occur in many unrelated documents.
    const name = word?.compounds.at(-1) ?? word?.parts.at(-1)
    if (name !== undefined && others.length === 0) slots.add(name, 0, "excluded", false)
  }
  // An invalid site becomes an empty text, which matches nothing.
  const sitesOf = (kind: Piece["kind"]) =>
    texts(kind)
      .slice(0, maxOperators)
      .map((text) => parseSite(text) ?? "")
  const sites = sitesOf("site")
  const excludedSites = sitesOf("excludedSite")
  slots.addSites(sites, "required")
  slots.addSites(
    excludedSites.filter((site) => !site.includes("/")),
    "excluded"
  )
  return {
    slots: slots.all,
    phrases: quoted.map(phraseText).filter((phrase) => phrase.trim() !== ""),
    excludedPhrases: excluded.map(phraseText).filter((phrase) => phrase.trim().includes(" ")),
    sites,
    excludedSites
  }
}

export interface QueryParts {
  readonly words: string
  readonly phrases: ReadonlyArray<string>
  readonly excluded: ReadonlyArray<string>
  readonly sites: ReadonlyArray<string>
  readonly excludedSites: ReadonlyArray<string>
}

export const readParts = (query: string): QueryParts => {
  const pieces = piecesOf(query)
  const texts = (...kinds: ReadonlyArray<Piece["kind"]>) =>
    pieces.filter(({ kind, text }) => kinds.includes(kind) && text.trim() !== "").map(({ text }) => text)
  const operators = (kind: Piece["kind"]) => texts(kind).slice(0, maxOperators)
  return {
    words: texts("words", "phrase").join(" "),
    phrases: operators("phrase"),
    excluded: operators("excluded"),
    sites: operators("site"),
    excludedSites: operators("excludedSite")
  }
}
