import {
  addressText,
  languageOf as guessedLanguage,
  weights as indexWeights
} from "../../../domain/index/DocumentTerms.ts"
import { wordsOf } from "../../../domain/index/words.ts"
import type { Document } from "../../../services/index/DocumentIndex.ts"

/*
 * The fields of a document. Its text is in an object named after its language, whose fields have that language's
 * analyzer, and is copied into `all`, whose fields have no stems: a query finds words of other languages as they are
 * written. `all` is indexed but not stored.
 */

/** Analyzers that Elasticsearch and OpenSearch have built in, by language (ISO 639-1). */
const analyzers: Readonly<Record<string, string>> = {
  da: "danish",
  de: "german",
  en: "english",
  es: "spanish",
  fi: "finnish",
  fr: "french",
  it: "italian",
  ja: "cjk",
  nl: "dutch",
  no: "norwegian",
  pt: "portuguese",
  ru: "russian",
  sv: "swedish",
  th: "thai",
  zh: "cjk"
}

/** The object with the text of a document whose language is not known. */
export const unknownLanguage = "other"

export const languageOf = (language: string | undefined): string =>
  language !== undefined && Object.hasOwn(analyzers, language) ? language : unknownLanguage

/** Weights of the text fields: those of the built-in index. The address is a field of `all` with weight 1. */
export const weights: Readonly<Record<string, number>> = {
  title: indexWeights.title,
  headings: indexWeights.headings,
  description: indexWeights.description,
  content: indexWeights.content
}
const textFields = Object.keys(weights)

/** Words of a text read to guess the language of a document that names none. */
const maxGuessedWords = 200

const textIn = (analyzer: string) => ({
  properties: Object.fromEntries(textFields.map((name) => [name, { type: "text", analyzer, copy_to: `all.${name}` }]))
})

const keyword = { type: "keyword", ignore_above: 8_191 }

/** The body of the request that creates an index. */
export const indexBody = {
  settings: {
    analysis: {
      analyzer: { folded: { type: "custom", tokenizer: "standard", filter: ["lowercase", "asciifolding"] } }
    }
  },
  mappings: {
    dynamic: false,
    properties: {
      url: keyword,
      origin: keyword,
      hosts: keyword,
      path: keyword,
      targets: keyword,
      load: keyword,
      published: { type: "date" },
      all: {
        properties: Object.fromEntries(
          [...textFields, "address"].map((name) => [name, { type: "text", analyzer: "folded" }])
        )
      },
      [unknownLanguage]: textIn("folded"),
      ...Object.fromEntries(Object.entries(analyzers).map(([language, analyzer]) => [language, textIn(analyzer)]))
    }
  }
}

/** The site of a page: scheme, host and port. */
export const originOf = (url: string): string => new URL(url).origin

/** A host and all domains above it, so that `site:` is a comparison of whole values. */
export const hostsOf = (hostname: string): ReadonlyArray<string> => {
  const labels = hostname.split(".")
  return labels.map((_, index) => labels.slice(index).join("."))
}

/** The stored form of a document. `load` names the load that wrote it. */
export const sourceOf = (
  document: Document,
  options: { readonly target: string | undefined; readonly load: string }
) => {
  const { hostname, pathname } = new URL(document.url)
  const { content = "", description, headings = "", title, url } = document
  const start = wordsOf(`${title} ${description} ${content}`, maxGuessedWords)
  const language = guessedLanguage(document.language ?? null, start)
  return {
    url,
    origin: originOf(url),
    hosts: hostsOf(hostname),
    path: pathname,
    ...(options.target === undefined ? {} : { targets: options.target }),
    load: options.load,
    all: { address: addressText(url) },
    [languageOf(language)]: { title, headings, description, content }
  }
}
