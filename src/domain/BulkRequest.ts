import { Result, Schema } from "effect"
import type { InvalidRequest } from "./errors.ts"
import { decoder } from "./fields.ts"
import { type InvalidSearch, Query, type SearchRequest, searchFields, toSearch } from "./SearchRequest.ts"

export const maxBulkRows = 50

const BulkRow = Schema.Struct({ query: Query, ...searchFields("row") }).annotate({
  identifier: "BulkRow",
  description: "One search; its fields override the body's defaults",
  message: "a row must be a query string or an object with a query"
})

const queriesMessage = `must be a list of 1 to ${maxBulkRows} queries`

const queriesOf = <S extends Schema.Constraint>(entry: S) =>
  Schema.Array(entry)
    .annotate({ message: queriesMessage })
    .check(
      Schema.isMinLength(1, { message: queriesMessage }),
      Schema.isMaxLength(maxBulkRows, { message: queriesMessage })
    )
    .pipe(Schema.annotateKey({ messageMissingKey: queriesMessage }))

const message = "the body must be a JSON object with queries"

/** The body of `POST /v1/bulk`, for clients and the document. */
export const BulkRequest = Schema.Struct({
  queries: queriesOf(Schema.Union([Query, BulkRow])),
  ...searchFields("body")
}).annotate({ identifier: "BulkRequest", message })

/** Fields that a batch does not serve. They are read so that a batch which sets them is not run as another one (R17). */
const unservedFields = { page: Schema.optionalKey(Schema.Unknown), safe: Schema.optionalKey(Schema.Unknown) }

/** The fields of `BulkRequest` as the service reads them: `queries` takes any entry, because a wrong row fails alone (R16). */
export const bulkFields = {
  ...BulkRequest.fields,
  ...unservedFields,
  queries: queriesOf(Schema.Unknown)
}

const Bulk = Schema.Struct(bulkFields).annotate({ message })

const Row = Schema.Struct({ ...BulkRow.fields, ...unservedFields }).annotate({
  message: "a row must be a query string or an object with a query"
})

/** Each row's search, or why it will not run. */
export type BulkRows = ReadonlyArray<Result.Result<SearchRequest, InvalidSearch>>

const decodeRow = decoder(Row)

const unserved = ({ page, safe }: { readonly page?: unknown; readonly safe?: unknown }): string | undefined => {
  if (page !== undefined && page !== 1) return "Bulk serves page 1 only; leave page out or use GET /v1/query."
  if (safe !== undefined && safe !== "off") return "Bulk serves safe off only; leave safe out or use GET /v1/query."
  return undefined
}

/** The rows of a batch. A row is judged by the rules of a single search, with the body's fields where it has none (R17). */
export const toRows = ({ queries, ...defaults }: typeof Bulk.Type): BulkRows =>
  queries.map((entry) =>
    Result.flatMap(decodeRow(typeof entry === "string" ? { query: entry } : entry), (row) => {
      const { page, safe, ...search } = { ...defaults, ...row }
      return toSearch(search, unserved({ page, safe }))
    })
  )

const decodeBulk = decoder(Bulk)

/** The rows of a bulk body, or what is wrong with the body itself (R16). */
export const parseBulk = (body: unknown): Result.Result<BulkRows, InvalidRequest> =>
  Result.map(decodeBulk(body), toRows)
