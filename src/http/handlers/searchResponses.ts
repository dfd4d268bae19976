import type { Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import type { BulkBody, BulkLineBody, RowBody } from "../../domain/BulkResult.ts"
import type { SearchBody } from "../../domain/SearchResult.ts"
import { jsonLines } from "../accept.ts"

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

const search = <Body extends SearchBody>({ ranking, ...fields }: Body): Pieces => {
  const start = bytes({ ...fields, results: { organic: [] } }).subarray(0, -"[]}}".length)
  return [start, ranking.json, searchEnd]
}

const row = (body: RowBody): Pieces => (body.status === "ok" ? search(body) : [bytes(body)])

/** A 200 with `SearchResult`. */
export const searchResponse = (body: SearchBody) => response(search(body))

const newline = Buffer.from("\n")

const line = (content: BulkLineBody): Pieces => {
  if (content.type !== "row") return [bytes(content), newline]
  const { body, index, type } = content
  return [...(body.status === "ok" ? search({ type, index, ...body }) : [bytes({ type, index, ...body })]), newline]
}

/** Lines of a batch that is streamed (R46), as they are written. */
export const encodeLines = (lines: ReadonlyArray<BulkLineBody>): Uint8Array => Buffer.concat(lines.flatMap(line))

/** A line without content. It keeps a connection open that proxies would close as idle. */
export const heartbeat: Uint8Array = newline

const lineHeaders = { "cache-control": "no-store, no-transform", "x-accel-buffering": "no" }

/** A 200 whose lines are written as they come. Neither compression nor a proxy may hold one back for the next. */
export const linesResponse = (lines: Stream.Stream<Uint8Array>) =>
  HttpServerResponse.stream(lines, {
    contentType: jsonLines,
    headers: lineHeaders
  })

/**
 * The lines of a batch that has ended, in the order of its rows (R44). A batch with an idempotency key is charged as a
 * whole, so that no row is charged without the answer that is kept: its lines are written together.
 */
export const wholeLinesResponse = ({ results, ...counts }: BulkBody, creditsUsed: number) => {
  const lines = encodeLines([
    { type: "batch", batch_id: counts.batch_id, total: counts.total },
    ...results.map((body, index) => ({ type: "row" as const, index, body })),
    { type: "summary", ...counts, credits_used: creditsUsed }
  ])
  return HttpServerResponse.uint8Array(lines, { contentType: jsonLines, headers: lineHeaders })
}

/** A 200 with `BulkResult`. */
export const bulkResponse = ({ results, ...counts }: BulkBody) => {
  const start = bytes({ ...counts, results: [] }).subarray(0, -bulkEnd.length)
  const rows = results.flatMap((body) => [comma, ...row(body)]).slice(1)
  return response([start, ...rows, bulkEnd])
}
