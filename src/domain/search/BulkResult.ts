import { Schema } from "effect"
import { type SearchBody, searchResultFields, toSearchResult } from "./SearchResult.ts"

const rowErrors = [
  "invalid_request",
  "unsupported_geo",
  "unsupported_parameter",
  "upstream_error",
  "upstream_timeout",
  "internal_error"
] as const

export const ServedRow = Schema.Struct({ status: Schema.Literal("ok"), ...searchResultFields }).annotate({
  identifier: "ServedRow",
  description: "A successful row"
})
export type ServedRow = typeof ServedRow.Type

export const ErrorRow = Schema.Struct({
  status: Schema.Literal("error"),
  error: Schema.Literals(rowErrors),
  message: Schema.String
}).annotate({ identifier: "ErrorRow", description: "A row that was rejected or failed" })
export type ErrorRow = typeof ErrorRow.Type

export type RowResult = ServedRow | ErrorRow

export const BulkResult = Schema.Struct({
  batch_id: Schema.String.annotate({
    description: "bat_ and 32 hex characters; every row's log entry carries it"
  }),
  total: Schema.Int.annotate({ description: "Number of input rows" }),
  succeeded: Schema.Int.annotate({ description: "Rows with status ok" }),
  failed: Schema.Int.annotate({ description: "Rows with status error" }),
  results: Schema.Array(Schema.Union([ServedRow, ErrorRow])).annotate({
    description: "One entry per input row, in input order"
  })
}).annotate({ identifier: "BulkResult" })
export type BulkResult = typeof BulkResult.Type

export type RowBody = (SearchBody & { readonly status: "ok" }) | ErrorRow

export interface BatchBody<Row> extends Omit<BulkResult, "results"> {
  readonly results: ReadonlyArray<Row>
}

export type BulkBody = BatchBody<RowBody>

const position = {
  type: Schema.Literal("row"),
  index: Schema.Int.annotate({ description: "Position in queries, from 0" })
}

const { results: _, ...counts } = BulkResult.fields

export const BulkLine = Schema.Union([
  Schema.Struct({ type: Schema.Literal("batch"), batch_id: counts.batch_id, total: counts.total }).annotate({
    description: "The first line"
  }),
  Schema.Struct({ ...position, ...ServedRow.fields }).annotate({ description: "A successful row" }),
  Schema.Struct({ ...position, ...ErrorRow.fields }).annotate({ description: "A row that was rejected or failed" }),
  Schema.Struct({
    type: Schema.Literal("summary"),
    ...counts,
    credits_used: Schema.Int.annotate({ description: "Credits charged for the batch" })
  }).annotate({ description: "The last line. A stream that ends without it is incomplete" })
]).annotate({ identifier: "BulkLine", description: "A line of a streamed batch" })

export type BatchLineBody<Row> =
  | { readonly type: "batch"; readonly batch_id: string; readonly total: number }
  | { readonly type: "row"; readonly index: number; readonly body: Row }
  | ({ readonly type: "summary"; readonly credits_used: number } & Omit<BatchBody<Row>, "results">)

export type BulkLineBody = BatchLineBody<RowBody>

export const toBulkResult = ({ results, ...counts }: BulkBody): BulkResult => ({
  ...counts,
  results: results.map((row) => (row.status === "ok" ? toSearchResult(row) : row))
})
