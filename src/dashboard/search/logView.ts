import type { LoggedSearch } from "../api/routes.ts"
import type { Cell } from "../credits/csv.ts"
import { keysOf } from "../keysOf.ts"

export const filterTexts = {
  text: "Contains",
  target: "Target",
  status: "Outcome",
  key: "Key",
  kind: "Kind",
  min_ms: "At least (ms)",
  batch: "Batch",
  request: "Request",
  source: "Source",
  option: "Option",
  domain: "Domain",
  from: "From",
  to: "Before"
} as const

export const filterNames = keysOf(filterTexts)

export const optionTexts = {
  freshness: "Published within",
  after: "Published from",
  before: "Published until",
  include_domains: "Only these domains",
  exclude_domains: "Not these domains",
  topic: "Topic"
} as const

export const ranges = [
  { value: "1h", text: "1 hour", ms: 3_600_000 },
  { value: "24h", text: "24 hours", ms: 86_400_000 },
  { value: "7d", text: "7 days", ms: 604_800_000 }
] as const

export const rangeIn = (query: URLSearchParams): string => {
  const range = query.get("range")
  if (ranges.some(({ value }) => value === range)) return range ?? ""
  return query.has("from") || query.has("to") || range === "own" ? "own" : "all"
}

/** A range that ends now begins at a full second before `now`. */
export const historyQuery = (query: URLSearchParams, now: number): Readonly<Record<string, string>> => {
  const given = [...filterNames, "cursor"].flatMap((name): Array<[string, string]> => {
    const value = query.get(name) ?? ""
    return value === "" ? [] : [[name, value]]
  })
  const range = ranges.find(({ value }) => value === query.get("range"))
  return {
    ...Object.fromEntries(given),
    ...(range && { from: new Date(Math.floor((now - range.ms) / 1_000) * 1_000).toISOString() })
  }
}

export const isFiltered = (query: URLSearchParams): boolean =>
  rangeIn(query) !== "all" || filterNames.some((name) => (query.get(name) ?? "") !== "")

const columns = [
  "created_at",
  "id",
  "kind",
  "target",
  "query",
  "status",
  "cached",
  "credits",
  "result_count",
  "duration_ms",
  "provider",
  "key",
  "key_id",
  "source",
  "geo",
  "locale",
  "page",
  "num",
  "safe",
  "options",
  "batch_id",
  "row",
  "request_id",
  "reason"
] as const

const cellOf = (value: string | number | boolean | object | null): Cell => {
  if (typeof value === "string" || typeof value === "number") return value
  return value === null ? "" : JSON.stringify(value)
}

export const logCsv = (
  entries: ReadonlyArray<LoggedSearch>,
  nameOf: (keyId: string) => string
): ReadonlyArray<ReadonlyArray<Cell>> => [
  columns,
  ...entries.map((entry) => {
    const row = { ...entry, key: entry.key_id && nameOf(entry.key_id) }
    return columns.map((name) => cellOf(row[name]))
  })
]
