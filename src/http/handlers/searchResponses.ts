import { HttpServerResponse } from "effect/http"
import type { BulkBody, RowBody } from "../../domain/BulkResult.ts"
import type { SearchBody } from "../../domain/SearchResult.ts"

/*
 * Responses of searches, assembled from bytes around results that are encoded already. As one string, a body would be
 * measured twice and encoded again on its way out, which takes three times as long for a batch.
 */

type Pieces = ReadonlyArray<Uint8Array>

const bytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

const response = (pieces: Pieces) =>
  HttpServerResponse.uint8Array(Buffer.concat(pieces), { contentType: "application/json" })

const comma = Buffer.from(",")
const searchEnd = Buffer.from("}}")
const bulkEnd = Buffer.from("]}")

const search = ({ ranking, ...fields }: SearchBody): Pieces => {
  const start = bytes({ ...fields, results: { organic: [] } }).subarray(0, -"[]}}".length)
  return [start, ranking.json, searchEnd]
}

const row = (body: RowBody): Pieces => (body.status === "ok" ? search(body) : [bytes(body)])

/** A 200 with `SearchResult`. */
export const searchResponse = (body: SearchBody) => response(search(body))

/** A 200 with `BulkResult`. */
export const bulkResponse = ({ results, ...counts }: BulkBody) => {
  const start = bytes({ ...counts, results: [] }).subarray(0, -bulkEnd.length)
  const rows = results.flatMap((body) => [comma, ...row(body)]).slice(1)
  return response([start, ...rows, bulkEnd])
}
