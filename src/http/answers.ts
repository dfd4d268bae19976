import { HttpServerResponse } from "effect/http"
import type { BulkResult } from "../domain/BulkResult.ts"

/*
 * Large bodies as the bytes that are sent: a text would be measured twice on its way out and encoded after that, which
 * is a twentieth of what a batch costs.
 */

const bytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

const answer = (body: Buffer) => HttpServerResponse.uint8Array(body, { contentType: "application/json" })

export const jsonAnswer = (body: unknown) => answer(bytes(body))

const comma = Buffer.from(",")
const end = Buffer.from("]}")

/** Row by row: making and encoding one text of them all takes three times as long. */
export const bulkAnswer = ({ results, ...counts }: BulkResult) => {
  const start = bytes({ ...counts, results: [] }).subarray(0, -end.length)
  const rows = results.flatMap((row) => [comma, bytes(row)]).slice(1)
  return answer(Buffer.concat([start, ...rows, end]))
}
