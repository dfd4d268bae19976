import type { LogEntry } from "../../../src/domain/log/LogEntry.ts"
import type { SearchRequest } from "../../../src/domain/search/SearchRequest.ts"

/** A search with every field set. Tests override only the relevant fields. */
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

/** The log entry of an answered search that cost one credit. Tests override only the relevant fields. */
export const logEntry = (
  fields: Pick<LogEntry, "id" | "accountId"> & Partial<LogEntry>,
  query = "quarry"
): LogEntry => ({
  keyId: undefined,
  batchId: undefined,
  request: { ...searchRequest({ query }), source: "api" },
  outcome: "ok",
  credits: 1,
  cached: false,
  provider: "meta/google",
  resultCount: 7,
  durationMs: 321,
  requestId: undefined,
  rowIndex: undefined,
  refusals: [],
  ...fields
})
