import { Schema } from "effect"
import { OrganicResult } from "./OrganicResult.ts"
import type { Ranking } from "./Ranking.ts"
import { Target } from "./Target.ts"

export const searchResultFields = {
  id: Schema.String.annotate({ description: "qry_ and 32 hex characters: the query's id in the log" }),
  target: Target,
  query: Schema.String.annotate({ description: "The query as run, after whitespace normalization" }),
  geo: Schema.String.annotate({ description: "ISO 3166-1 alpha-2 code, lowercase" }),
  locale: Schema.String.annotate({ description: "Language and region, lowercase: xx-yy" }),
  page: Schema.Int.annotate({ description: "The page returned" }),
  results: Schema.Struct({
    organic: Schema.Array(OrganicResult).annotate({
      description: "In rank order. May be empty or contain fewer than num results"
    })
  })
}

export const SearchResult = Schema.Struct(searchResultFields).annotate({ identifier: "SearchResult" })
export type SearchResult = typeof SearchResult.Type

export interface SearchBody extends Omit<SearchResult, "results"> {
  readonly ranking: Ranking
}

export const toSearchResult = <A extends SearchBody>({ ranking, ...fields }: A) => ({
  ...fields,
  results: { organic: ranking.results }
})
