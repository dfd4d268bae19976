import { HttpServerResponse } from "effect/http"
import type { BulkBody, BulkLineBody, RowBody } from "../../domain/search/BulkResult.ts"
import type { SearchBody } from "../../domain/search/SearchResult.ts"

/* Reuses encoded results. Encoding them again takes three times as long for a batch. */

export const encodeSearch = <Body extends SearchBody>({ ranking, ...fields }: Body): string => {
  const start = JSON.stringify({ ...fields, results: { organic: [] } }).slice(0, -"[]}}".length)
  return `${start}${ranking.json}}}`
}

const encodeRow = (body: RowBody): string => (body.status === "ok" ? encodeSearch(body) : JSON.stringify(body))

export const searchResponse = (body: SearchBody) =>
  HttpServerResponse.text(encodeSearch(body), { contentType: "application/json" })

export const encodeLine = (content: BulkLineBody): string => {
  if (content.type !== "row") return JSON.stringify(content)
  const { body, index, type } = content
  return body.status === "ok" ? encodeSearch({ type, index, ...body }) : JSON.stringify({ type, index, ...body })
}

/** In pieces, because a string of more than 128 KiB takes V8 as long to allocate as the rest of its batch. */
export const encodeBulk = ({ results, ...counts }: BulkBody): ReadonlyArray<string> => {
  const start = JSON.stringify({ ...counts, results: [] }).slice(0, -"]}".length)
  return [start, ...results.map((body, index) => (index === 0 ? encodeRow(body) : `,${encodeRow(body)}`)), "]}"]
}
