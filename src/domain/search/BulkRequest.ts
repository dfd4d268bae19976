import { Result, Schema } from "effect"
import { InvalidRequest } from "../errors.ts"
import { maxDomains, optionIssues, optionRules } from "../options/SearchOptions.ts"
import { decoder } from "../requests/fields.ts"
import { type InvalidSearch, Query, type SearchRequest, searchFields, toSearch } from "./SearchRequest.ts"

export const maxBulkRows = 50

const BulkRow = Schema.Struct({ query: Query, ...searchFields("row") }).annotate({
  identifier: "BulkRow",
  description: "One search. Its fields override the body's defaults",
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

export const BulkRequest = Schema.Struct({
  queries: queriesOf(Schema.Union([Query, BulkRow])),
  ...searchFields("body")
}).annotate({ identifier: "BulkRequest", message })

/** Decoded so that a batch that sets them fails instead of ignoring them (R17). */
const unservedFields = { page: Schema.optionalKey(Schema.Unknown), safe: Schema.optionalKey(Schema.Unknown) }

/** Accepts any entry in `queries`, because an invalid row fails alone (R16). */
export const bulkFields = {
  ...BulkRequest.fields,
  ...unservedFields,
  queries: queriesOf(Schema.Unknown)
}

const Bulk = Schema.Struct(bulkFields)
  .annotate({ message })
  .check(...optionRules)

const Row = Schema.Struct({ ...BulkRow.fields, ...unservedFields })
  .annotate({ message: "a row must be a query string or an object with a query" })
  .check(...optionRules)

export type BulkRows = ReadonlyArray<Result.Result<SearchRequest, InvalidSearch>>

/** Lists of domains are the only lists of a row. Fifty rows of 300 invalid domains would take 100 ms. */
const decodeRow = decoder(Row, maxDomains)

const unserved = ({ page, safe }: { readonly page?: unknown; readonly safe?: unknown }): string | undefined => {
  if (page !== undefined && page !== 1) return "Bulk supports only page 1. Remove page or use GET /v1/query."
  if (safe !== undefined && safe !== "off") return "Bulk supports only safe off. Remove safe or use GET /v1/query."
  return undefined
}

type Defaults = Omit<typeof Bulk.Type, "queries">

/** Replaces dates as a group, because `freshness` excludes the others. */
const mergeRow = ({ after, before, freshness, ...defaults }: Defaults, row: typeof Row.Type) => {
  const hasDates = row.after !== undefined || row.before !== undefined || row.freshness !== undefined
  const dates = {
    ...(after === undefined ? {} : { after }),
    ...(before === undefined ? {} : { before }),
    ...(freshness === undefined ? {} : { freshness })
  }
  return { ...defaults, ...(hasDates ? {} : dates), ...row }
}

/** Decodes rows like single searches, with the body's fields as defaults (R17). */
export const toRows = ({ queries, ...defaults }: typeof Bulk.Type): BulkRows =>
  queries.map((entry) =>
    Result.flatMap(
      decodeRow(typeof entry === "string" ? { query: entry } : entry),
      (row): Result.Result<SearchRequest, InvalidSearch> => {
        const { page, safe, ...search } = mergeRow(defaults, row)
        const issues = optionIssues(search)
        if (issues.length > 0) return Result.fail(InvalidRequest.fromIssues(issues))
        return toSearch(search, unserved({ page, safe }))
      }
    )
  )

const decodeBulk = decoder(Bulk)

/** Rows use the body's fields as defaults (R17). Fails only if the body itself is invalid (R16). */
export const parseBulk = (body: unknown): Result.Result<BulkRows, InvalidRequest> =>
  Result.map(decodeBulk(body), toRows)
