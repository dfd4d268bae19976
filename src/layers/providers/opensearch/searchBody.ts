import { type Piece, piecesOf } from "../../../domain/index/QueryTerms.ts"
import { siteOf } from "../../../domain/search/Domain.ts"
import type { SearchRequest } from "../../../domain/search/SearchRequest.ts"
import { languageOf, unknownLanguage, weights } from "./Fields.ts"

/** Characters of a snippet. */
const snippetCharacters = 240

/** The engine gives up after this time, which is less than a search may take. */
const engineTimeout = "5s"

const names = Object.keys(weights)
const weighted = (object: string): ReadonlyArray<string> =>
  Object.entries(weights).map(([name, weight]) => (weight === 1 ? `${object}.${name}` : `${object}.${name}^${weight}`))

const combined = (query: string, fields: ReadonlyArray<string>) => ({
  combined_fields: { query, fields, operator: "or" }
})

/** Matches any word, in the language of the search and as it is written. The better of both counts. */
const words = (query: string, language: string) => {
  const everywhere = combined(query, [...weighted("all"), "all.address"])
  return language === unknownLanguage
    ? everywhere
    : { dis_max: { queries: [everywhere, combined(query, weighted(language))] } }
}

const inAll = names.map((name) => `all.${name}`)
const phrase = (query: string) => ({ multi_match: { query, type: "phrase", fields: inAll } })
const allOf = (query: string) => ({
  multi_match: { query, type: "cross_fields", operator: "and", fields: [...inAll, "all.address"] }
})

/** Undefined for a text that is no site, which is left out like in the built-in index. */
const site = (text: string): ReadonlyArray<unknown> => {
  const url = siteOf(text)
  if (url === null) return []
  const host = { term: { hosts: url.hostname } }
  return url.pathname === "/" ? [host] : [{ bool: { filter: [host, { prefix: { path: url.pathname } }] } }]
}

const textsOf = (pieces: ReadonlyArray<Piece>, kind: Piece["kind"]): ReadonlyArray<string> =>
  pieces.filter((piece) => piece.kind === kind && piece.text.trim() !== "").map(({ text }) => text)

/** The body of `_search` for a request. Operators are strict; of the other words any may match. */
export const searchBody = ({ locale, num, page, query, target }: SearchRequest) => {
  const pieces = piecesOf(query)
  const wanted = textsOf(pieces, "words").join(" ")
  const sites = textsOf(pieces, "site").flatMap(site)
  const filter: ReadonlyArray<unknown> = [
    { bool: { should: [{ term: { targets: target } }, { bool: { must_not: { exists: { field: "targets" } } } }] } },
    ...(sites.length === 0 ? [] : [{ bool: { should: sites } }])
  ]
  const must: ReadonlyArray<unknown> = [
    ...(wanted === "" ? [] : [words(wanted, languageOf(locale.slice(0, 2)))]),
    ...textsOf(pieces, "phrase").map(phrase)
  ]
  const excluded: ReadonlyArray<unknown> = [
    ...textsOf(pieces, "excluded").map((text) => (/\s/.test(text) ? phrase(text) : allOf(text))),
    ...textsOf(pieces, "excludedSite").flatMap(site)
  ]
  return {
    from: (page - 1) * num,
    size: num,
    timeout: engineTimeout,
    track_total_hits: false,
    _source: ["url", "published", "*.title", "*.description"],
    query: { bool: { must, filter, must_not: excluded } },
    highlight: {
      pre_tags: [""],
      post_tags: [""],
      require_field_match: false,
      fields: { "*.content": { fragment_size: snippetCharacters, number_of_fragments: 1 } }
    }
  }
}
