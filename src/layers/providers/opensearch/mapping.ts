import { createHash } from "node:crypto"
import { addressText, fieldWeights, languageOf } from "../../../domain/index/DocumentTerms.ts"
import { wordsOf } from "../../../domain/index/words.ts"
import type { Target } from "../../../domain/search/Target.ts"
import type { Document } from "../../../services/index/DocumentIndex.ts"

/** Texts are stored by language, whose analyzer stems them, and copied into `plain`, whose analyzer does not. */

const analyzers = {
  en: "english",
  de: "german",
  fr: "french",
  es: "spanish",
  it: "italian",
  pt: "portuguese",
  nl: "dutch",
  sv: "swedish",
  da: "danish",
  no: "norwegian",
  fi: "finnish",
  ru: "russian",
  zh: "cjk",
  ja: "cjk",
  ko: "cjk",
  th: "thai",
  other: "quarry_plain"
} as const

export type LanguageGroup = keyof typeof analyzers

const isGroup = (language: string): language is LanguageGroup => Object.hasOwn(analyzers, language)

export const groupOf = (language: string | undefined): LanguageGroup =>
  language !== undefined && isGroup(language) ? language : "other"

const texts = ["title", "headings", "address", "description", "content"] as const
type TextField = (typeof texts)[number]

const weights: Readonly<Record<TextField, number>> = {
  title: fieldWeights.title,
  headings: fieldWeights.headings,
  address: fieldWeights.url,
  description: fieldWeights.description,
  content: fieldWeights.content
}

export const weightedFields = (group: LanguageGroup | "plain"): ReadonlyArray<string> =>
  texts.map((name) => `${group}.${name}^${weights[name]}`)

export const plainFields: ReadonlyArray<string> = texts.map((name) => `plain.${name}`)

const textsOf = (analyzer: string, copies: boolean) => ({
  properties: Object.fromEntries(
    texts.map((name) => [name, { type: "text", analyzer, ...(copies ? { copy_to: `plain.${name}` } : {}) }])
  )
})

const stored = { type: "keyword", index: false, doc_values: false }

/** Increases with each incompatible change. Quarry does not write into an index with another number. */
export const formVersion = 1

export const indexBody = {
  settings: {
    analysis: {
      analyzer: {
        quarry_plain: { type: "custom", tokenizer: "standard", filter: ["lowercase", "asciifolding"] }
      }
    }
  },
  mappings: {
    dynamic: "strict",
    _meta: { quarry: formVersion },
    properties: {
      url: stored,
      target: { type: "keyword" },
      language: { type: "keyword" },
      sites: { type: "keyword" },
      path: { type: "keyword", ignore_above: 1_024 },
      ...Object.fromEntries(Object.entries(analyzers).map(([group, analyzer]) => [group, textsOf(analyzer, true)])),
      plain: textsOf("quarry_plain", false)
    }
  }
} as const

export const allTargets = "all"

export const documentId = (url: string, target: Target | undefined): string =>
  createHash("sha256")
    .update(`${target ?? allTargets} ${url}`)
    .digest("base64url")

const sitesOf = (hostname: string): ReadonlyArray<string> => {
  const labels = hostname.split(".")
  return labels.map((_, index) => labels.slice(index).join("."))
}

const maxGuessedWords = 200
const maxGuessedUnits = 4_000

const guess = ({ content = "", description, title }: Document): string =>
  languageOf(null, wordsOf(`${title} ${description} ${content.slice(0, maxGuessedUnits)}`, maxGuessedWords))

export const toSource = (document: Document, target: Target | undefined) => {
  const { content, description, headings, title, url } = document
  const language = document.language ?? guess(document)
  const { hostname, pathname } = new URL(url)
  return {
    url,
    target: target ?? allTargets,
    language,
    sites: sitesOf(hostname),
    path: pathname,
    [groupOf(language)]: {
      title,
      address: addressText(url),
      description,
      ...(headings === undefined ? {} : { headings }),
      ...(content === undefined ? {} : { content })
    }
  }
}
