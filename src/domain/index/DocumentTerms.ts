import { siteParts } from "../options/Sites.ts"
import { dateTerms } from "./dates.ts"
import { formsOf, guessLanguage } from "./languages.ts"
import { fold, type Word, wordsOf } from "./words.ts"

export interface DocumentTexts {
  readonly url: string
  readonly title: string
  readonly headings: string
  readonly description: string
  readonly content: string
  readonly language: string | null
  /** A date or a date-time in UTC. */
  readonly published?: string | null
}

export interface DocumentTerms {
  readonly frequencies: ReadonlyMap<string, number>
  readonly length: number
}

export const fieldWeights = { title: 4, headings: 2, url: 1, description: 1, content: 1 }

const maxWords = { title: 60, headings: 200, url: 30, description: 400, content: 8_000 }

const maxGuessed = 200

export const addressText = (url: string): string => {
  const [host = "", ...path] = url
    .replace(/^https?:\/\//i, "")
    .replace(/[?#].*$/s, "")
    .split("/")
  const labels = host
    .replace(/^www\./i, "")
    .split(".")
    .slice(0, -1)
  return [...labels, ...path].join(" ").replace(/%[0-9a-f]{2}/gi, " ")
}

const maxHostUnits = 253

/** `@docs.example.org` and each parent domain, such as `@example.org`, for `site:` queries. */
const siteTerms = (url: string): ReadonlyArray<string> => {
  const hostname = URL.parse(url)?.hostname ?? ""
  if (hostname.length > maxHostUnits) return []
  const labels = hostname.split(".")
  return labels.map((_, index) => `@${labels.slice(index).join(".")}`)
}

export const siteTerm = (site: string): string => `@${siteParts(site).host}`

export const partsAndCompounds = (words: ReadonlyArray<Word>): ReadonlyArray<string> =>
  words.flatMap(({ compounds, parts }) => (compounds.length === 0 ? parts : [...parts, ...compounds]))

/** A description that repeats the start of the content adds nothing to the index. */
const isBeginning = (description: string, content: string): boolean =>
  description !== "" && content.startsWith(description.replace(/(?:\.\.\.|…)$/, "").trimEnd())

export const languageOf = (language: string | null, words: ReadonlyArray<Word>): string =>
  language ?? guessLanguage(words.slice(0, maxGuessed).flatMap(({ parts }) => parts.map(fold)))

export const documentTerms = (texts: DocumentTexts): DocumentTerms => {
  const fields = [
    { words: wordsOf(texts.title, maxWords.title), weight: fieldWeights.title },
    { words: wordsOf(texts.headings, maxWords.headings), weight: fieldWeights.headings },
    { words: wordsOf(addressText(texts.url), maxWords.url), weight: fieldWeights.url },
    {
      words: isBeginning(texts.description, texts.content) ? [] : wordsOf(texts.description, maxWords.description),
      weight: fieldWeights.description
    },
    { words: wordsOf(texts.content, maxWords.content), weight: fieldWeights.content }
  ]
  const language = languageOf(
    texts.language,
    fields.flatMap(({ words }) => words)
  )
  const frequencies = new Map<string, number>()
  let length = 0
  for (const { weight, words } of fields) {
    for (const part of partsAndCompounds(words)) {
      length += weight
      for (const form of formsOf(part, language)) {
        frequencies.set(form, (frequencies.get(form) ?? 0) + weight)
      }
    }
  }
  for (const term of [...siteTerms(texts.url), ...dateTerms(texts.published ?? "")]) frequencies.set(term, 1)
  return { frequencies, length }
}
