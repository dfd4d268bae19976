import { Result, Schema } from "effect"
import { InvalidRequest, type Issue } from "./errors.ts"
import { type Reader, reader } from "./fields.ts"
import {
  bulkRowForm,
  GeoText,
  Locale,
  Num,
  parse,
  QueryText,
  type RawSearch,
  type SearchRefused,
  type SearchRequest,
  Source
} from "./SearchRequest.ts"
import { Target } from "./Target.ts"

const maxBulkRows = 50

/** What a row may set, and what the body may set for every row. */
const defaults = {
  target: Schema.optionalKey(Target),
  geo: Schema.optionalKey(GeoText),
  locale: Schema.optionalKey(Locale),
  num: Schema.optionalKey(Num),
  source: Schema.optionalKey(Source)
}

const BulkRow = Schema.Struct({ query: QueryText, ...defaults }).annotate({
  identifier: "BulkRow",
  description: "One search; its fields override the body's defaults"
})

/** The body as clients are told to send it. `parseBulk` takes more: a row that is wrong fails by itself (R16). */
export const BulkRequest = Schema.Struct({
  queries: Schema.Array(Schema.Union([QueryText, BulkRow])).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(maxBulkRows)
  ),
  ...defaults
}).annotate({ identifier: "BulkRequest" })

/** Each row's search, or why it will not run. */
export type BulkRows = ReadonlyArray<Result.Result<SearchRequest, SearchRefused>>

const isObject = (value: unknown): value is RawSearch =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const bodyReaders: { readonly [field: string]: Reader<string | number> } = {
  target: reader(Target),
  geo: reader(GeoText),
  locale: reader(Locale),
  source: reader(Source),
  num: reader(Num)
}

const queriesMessage = `must be a list of 1 to ${maxBulkRows} queries`

const bodyIssues = (body: RawSearch): ReadonlyArray<Issue> => {
  const issues: Array<Issue> = []
  const { queries } = body
  if (!Array.isArray(queries) || queries.length < 1 || queries.length > maxBulkRows) {
    issues.push({ field: "queries", message: queriesMessage })
  }
  for (const [field, read] of Object.entries(bodyReaders)) {
    if (body[field] === undefined) continue
    const value = read(body[field])
    if (Result.isFailure(value)) issues.push({ field, message: value.failure })
  }
  return issues
}

const notARow = InvalidRequest.whole("a row must be a query string or an object with a query")

/**
 * The rows of a bulk body, or what is wrong with the body itself (R16). A row is judged by the rules of a single
 * search; what is wrong with it is the row's own matter. `page` and `safe` of the body count for every row as the other
 * defaults do, so that a batch that asks for them is told that they are not served (R17).
 */
export const parseBulk = (body: unknown): Result.Result<BulkRows, InvalidRequest> => {
  if (!isObject(body)) return Result.fail(InvalidRequest.whole("the body must be a JSON object with queries"))
  const issues = bodyIssues(body)
  if (issues.length > 0) return Result.fail(InvalidRequest.fromIssues(issues))
  const { geo, locale, num, page, safe, source, target } = body
  const inherited = { geo, locale, num, page, safe, source, target }
  // `bodyIssues` has found `queries` to be an array.
  const queries = body.queries as ReadonlyArray<unknown>
  return Result.succeed(
    queries.map((entry) => {
      if (typeof entry === "string") return parse({ ...inherited, query: entry }, bulkRowForm)
      return isObject(entry) ? parse({ ...inherited, ...entry }, bulkRowForm) : Result.fail(notARow)
    })
  )
}
