import type { SearchRequest } from "../../src/domain/SearchRequest.ts"

/** A search with every field set; a test names only what it is about. */
export const searchRequest = (fields?: Partial<SearchRequest>): SearchRequest => ({
  target: "alpha_search",
  query: "effect typescript",
  geo: "us",
  locale: "en-us",
  page: 1,
  num: 10,
  safe: "off",
  source: undefined,
  ...fields
})
