import type { QueryRecord } from "../../src/domain/QueryRecord.ts"
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

/** The log entry of an answered search that cost one credit; a test names only what it is about. */
export const queryRecord = (
  fields: Pick<QueryRecord, "id" | "accountId"> & Partial<QueryRecord>,
  query = "quarry"
): QueryRecord => ({
  keyId: undefined,
  batchId: undefined,
  request: { ...searchRequest({ query }), source: "api" },
  outcome: "ok",
  credits: 1,
  cached: false,
  provider: "meta/google",
  resultCount: 7,
  durationMs: 321,
  ...fields
})
