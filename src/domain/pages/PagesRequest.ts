import { Result, Schema } from "effect"
import type { InvalidRequest } from "../errors.ts"
import { decoder } from "../requests/fields.ts"
import { BulkResult } from "../search/BulkResult.ts"
import { searchFields } from "../search/SearchRequest.ts"
import { UnreadableReason } from "../UnreadableReason.ts"
import { pageFields } from "./PageBody.ts"
import { jsonPageFields, PageAddress, type PageRequest, toPageRequest } from "./PageRequest.ts"

export const maxPageRows = 20

const rowMessage = "a row must be an address or an object with a url"

const PageRow = Schema.Struct({ url: PageAddress, ...jsonPageFields }).annotate({
  identifier: "PageRow",
  description: "One page. Its fields override the body's",
  message: rowMessage
})

const urlsMessage = `must be a list of 1 to ${maxPageRows} addresses`

const urlsOf = <S extends Schema.Constraint>(entry: S) =>
  Schema.Array(entry)
    .annotate({ message: urlsMessage })
    .check(Schema.isMinLength(1, { message: urlsMessage }), Schema.isMaxLength(maxPageRows, { message: urlsMessage }))
    .pipe(Schema.annotateKey({ messageMissingKey: urlsMessage }))

const message = "the body must be a JSON object with urls"

const bodyFields = { ...jsonPageFields, source: searchFields("body").source }

export const PagesRequest = Schema.Struct({
  urls: urlsOf(Schema.Union([PageAddress, PageRow])),
  ...bodyFields
}).annotate({ identifier: "PagesRequest", message })

/** Accepts any entry in `urls`, because an invalid row fails alone (R16). */
const decodeBody = decoder(Schema.Struct({ urls: urlsOf(Schema.Unknown), ...bodyFields }).annotate({ message }))

const decodeRow = decoder(PageRow)

export type PageRows = ReadonlyArray<Result.Result<PageRequest, InvalidRequest>>

/** Rows use the body's fields as defaults. Fails only if the body itself is invalid. */
export const parsePages = (body: unknown): Result.Result<PageRows, InvalidRequest> =>
  Result.map(decodeBody(body), ({ urls, ...defaults }) =>
    urls.map((entry) =>
      Result.map(decodeRow(typeof entry === "string" ? { url: entry } : entry), (row) =>
        toPageRequest({ ...defaults, ...row })
      )
    )
  )

const ReadRow = Schema.Struct({ status: Schema.Literal("ok"), ...pageFields }).annotate({
  identifier: "ReadRow",
  description: "A page that was read"
})

const UnreadRow = Schema.Struct({
  status: Schema.Literal("error"),
  error: Schema.Literals([
    "invalid_request",
    "unsupported_parameter",
    "page_unreadable",
    "upstream_error",
    "upstream_timeout",
    "internal_error"
  ]),
  message: Schema.String,
  reason: Schema.optionalKey(UnreadableReason.annotate({ identifier: undefined })),
  http_status: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "UnreadRow", description: "A row that was rejected, or a page that could not be read" })

export const PageRowBody = Schema.Union([ReadRow, UnreadRow])
export type PageRowBody = typeof PageRowBody.Type

const { results: _, ...counts } = BulkResult.fields

export const PagesResult = Schema.Struct({
  ...counts,
  results: Schema.Array(PageRowBody).annotate({ description: "One entry per input row, in input order" })
}).annotate({ identifier: "PagesResult" })

const position = {
  type: Schema.Literal("row"),
  index: Schema.Int.annotate({ description: "Position in urls, from 0" })
}

export const PagesLine = Schema.Union([
  Schema.Struct({ type: Schema.Literal("batch"), batch_id: counts.batch_id, total: counts.total }).annotate({
    description: "The first line"
  }),
  Schema.Struct({ ...position, ...ReadRow.fields }).annotate({ description: "A page that was read" }),
  Schema.Struct({ ...position, ...UnreadRow.fields }).annotate({ description: "A row that failed" }),
  Schema.Struct({
    type: Schema.Literal("summary"),
    ...counts,
    credits_used: Schema.Int.annotate({ description: "Credits charged for the batch" })
  }).annotate({ description: "The last line. A stream that ends without it is incomplete" })
]).annotate({ identifier: "PagesLine", description: "A line of a streamed batch of pages" })
