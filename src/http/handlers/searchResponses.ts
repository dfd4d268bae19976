import { HttpServerResponse } from "effect/http"
import type { BulkBody, BulkLineBody, RowBody } from "../../domain/search/BulkResult.ts"
import type { SearchBody } from "../../domain/search/SearchResult.ts"

/* Reuses encoded results. Encoding them again takes three times as long for a batch. */

type Pieces = ReadonlyArray<string>

const piecesOf = <Body extends SearchBody>({ ranking, ...fields }: Body): Pieces => {
  const start = JSON.stringify({ ...fields, results: { organic: [] } }).slice(0, -"[]}}".length)
  return [start, ranking.json, "}}"]
}

export const encodeSearch = <Body extends SearchBody>(body: Body): string => piecesOf(body).join("")

export const searchResponse = (body: SearchBody) =>
  HttpServerResponse.text(encodeSearch(body), { contentType: "application/json" })

export const encodeLine = (content: BulkLineBody): string => {
  if (content.type !== "row") return JSON.stringify(content)
  const { body, index, type } = content
  return body.status === "ok" ? encodeSearch({ type, index, ...body }) : JSON.stringify({ type, index, ...body })
}

const piecesOfRow = (body: RowBody): Pieces => (body.status === "ok" ? piecesOf(body) : [JSON.stringify(body)])

/** In pieces, because V8 would copy the strings of a batch twice to join them. */
export const encodeBulk = ({ results, ...counts }: BulkBody): Pieces => {
  const start = JSON.stringify({ ...counts, results: [] }).slice(0, -"]}".length)
  return [start, ...results.flatMap((body) => [",", ...piecesOfRow(body)]).slice(1), "]}"]
}
