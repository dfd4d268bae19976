import { Result, Schema } from "effect"
import { HttpApiEndpoint } from "effect/http-api"
import { InvalidRequest } from "../../domain/errors.ts"
import { decoder, Text } from "../../domain/requests/fields.ts"
import type { OrganicResult } from "../../domain/search/OrganicResult.ts"
import { defaultNum, maxNum } from "../../domain/search/SearchRequest.ts"
import { statuses } from "../../http/errors.ts"
import { readJson } from "../../http/requests/body.ts"
import { errorsOf } from "../CompatError.ts"
import type { CompatService } from "../CompatService.ts"
import { groupOf } from "../endpoints.ts"
import { exampleAddress, examplePages, exampleResults } from "../examples.ts"
import { Addresses, Count, domains, LongQuery } from "../fields.ts"
import { type FailedRow, type PagesForm, type ReadPages, toWholePage } from "../PageForm.ts"
import { type CompatResults, jsonForm, type SearchForm } from "../SearchForm.ts"

const ExaRequest = Schema.Struct({
  query: LongQuery,
  numResults: Schema.optionalKey(Count.annotate({ description: "Maximum number of results; 10 if absent." })),
  userLocation: Schema.optionalKey(Text.annotate({ description: "An ISO 3166-1 code." })),
  moderation: Schema.optionalKey(
    Schema.Boolean.annotate({
      message: "must be true or false",
      description: "True means strict safe search. Ignored if the target has none."
    })
  ),
  includeDomains: domains("Return only results from these sites."),
  excludeDomains: domains("Exclude results from these sites."),
  contents: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Unknown).annotate({
      message: "must be an object",
      description: "With text or highlights, each result has its snippet in that place. No page is read."
    })
  )
}).annotate({ identifier: "ExaRequest", message: "the body must be a JSON object with a query" })
type ExaRequest = typeof ExaRequest.Type

const ExaAnswer = Schema.Struct({
  requestId: Schema.String,
  resolvedSearchType: Schema.String,
  results: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      title: Schema.String,
      url: Schema.String,
      publishedDate: Schema.NullOr(Schema.String),
      author: Schema.Null,
      text: Schema.optionalKey(Schema.String),
      highlights: Schema.optionalKey(Schema.Array(Schema.String))
    })
  ),
  searchTime: Schema.Finite.annotate({ description: "Milliseconds" })
}).annotate({ identifier: "ExaAnswer", description: "A response in the format of Exa's search" })
type ExaAnswer = typeof ExaAnswer.Type

const ExaError = Schema.Struct({
  requestId: Schema.optionalKey(Schema.String),
  error: Schema.String.annotate({ description: "Human-readable error message" }),
  tag: Schema.String
}).annotate({ identifier: "ExaError", description: "An error in Exa's format" })
type ExaError = typeof ExaError.Type

const ExaGroup = groupOf({
  name: "compatExa",
  title: "Exa",
  programs: "For programs with a configurable address for Exa",
  endpoint: HttpApiEndpoint.post("search", "/compat/exa/search", {
    payload: ExaRequest,
    success: ExaAnswer,
    error: errorsOf(ExaError, statuses)
  }),
  summary: "Search as in Exa",
  description: "Exa's search, with links and snippets but no page contents, dates or summaries."
})

const hasFilter = ({ excludeDomains = [], includeDomains = [] }: ExaRequest): boolean =>
  excludeDomains.length + includeDomains.length > 0

const isAsked = (contents: ExaRequest["contents"], name: string): boolean =>
  contents?.[name] !== undefined && contents[name] !== false && contents[name] !== null

/** Uses the snippet in place of the page text, because no page is read. */
const toRow =
  ({ contents }: ExaRequest) =>
  ({ published, snippet, title, url }: OrganicResult): ExaAnswer["results"][number] => ({
    id: url,
    title,
    url,
    publishedDate: published ?? null,
    author: null,
    ...(isAsked(contents, "text") ? { text: snippet } : {}),
    ...(isAsked(contents, "highlights") ? { highlights: [snippet] } : {})
  })

const answerTo =
  (request: ExaRequest) =>
  ({ durationMs, requestId, results }: CompatResults): ExaAnswer => ({
    requestId,
    resolvedSearchType: "keyword",
    results: results.slice(0, request.numResults ?? defaultNum).map(toRow(request)),
    searchTime: durationMs
  })

const decode = decoder(ExaRequest)

/** Exa's search. Requests more results if Quarry may remove some of them for their domains. */
const search: SearchForm = {
  ...jsonForm("exa", ExaRequest),
  decode: (fields) =>
    Result.map(decode(fields), (request) => ({
      query: request.query,
      geo: request.userLocation,
      num: hasFilter(request) ? maxNum : (request.numResults ?? defaultNum),
      safe: request.moderation === true ? "strict" : "off",
      options: { include_domains: request.includeDomains, exclude_domains: request.excludeDomains },
      answer: answerTo(request)
    }))
}

const ExaContentsRequest = Schema.Struct({
  urls: Schema.optionalKey(Addresses),
  /** The older name of `urls`: a result's ID is its address. */
  ids: Schema.optionalKey(Addresses)
}).annotate({ identifier: "ExaContentsRequest", message: "the body must be a JSON object with urls" })
type ExaContentsRequest = typeof ExaContentsRequest.Type

const ExaContentsAnswer = Schema.Struct({
  requestId: Schema.String,
  results: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      url: Schema.String,
      title: Schema.NullOr(Schema.String),
      author: Schema.NullOr(Schema.String),
      publishedDate: Schema.NullOr(Schema.String),
      text: Schema.String.annotate({ description: "The page's text" })
    })
  ),
  statuses: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      status: Schema.Literals(["success", "error"]),
      error: Schema.optionalKey(Schema.Struct({ tag: Schema.String, httpStatusCode: Schema.NullOr(Schema.Int) }))
    })
  )
}).annotate({ identifier: "ExaContentsAnswer", description: "A response in the format of Exa's contents" })
type ExaContentsAnswer = typeof ExaContentsAnswer.Type

const ExaContentsGroup = groupOf({
  name: "compatExaContents",
  title: "Exa, pages",
  programs: "For programs that read pages with Exa",
  endpoint: HttpApiEndpoint.post("contents", "/compat/exa/contents", {
    payload: ExaContentsRequest,
    success: ExaContentsAnswer,
    error: errorsOf(ExaError, statuses)
  }),
  summary: "Read pages as in Exa",
  description: "Exa's contents. Costs a credit for each page that was read, and nothing for the others."
})

/** Exa's tags for pages that cannot be read. Its clients branch on the first two. */
const tagOf = ({ reason }: FailedRow): string => {
  if (reason === "not_found") return "CRAWL_NOT_FOUND"
  if (reason === "timed_out") return "CRAWL_TIMEOUT"
  return "CRAWL_UNKNOWN_ERROR"
}

const contentsAnswerTo =
  (urls: ReadonlyArray<string>) =>
  ({ requestId, rows }: ReadPages): Result.Result<ExaContentsAnswer> => {
    const placed = rows.map((row, index) => ({ row, id: urls[index] ?? "" }))
    return Result.succeed({
      requestId,
      results: placed.flatMap(({ id, row }) =>
        row.status === "ok"
          ? [
              {
                id,
                url: row.final_url,
                title: row.title,
                author: row.author,
                publishedDate: row.published,
                text: row.content
              }
            ]
          : []
      ),
      statuses: placed.map(({ id, row }) =>
        row.status === "ok"
          ? { id, status: "success" as const }
          : { id, status: "error" as const, error: { tag: tagOf(row), httpStatusCode: row.http_status ?? null } }
      )
    })
  }

const decodeContents = decoder(ExaContentsRequest)

const missing = InvalidRequest.fromIssues([{ field: "urls", message: "is required" }])

const contents: PagesForm = {
  name: "exa",
  // `text` has no effect, because every page is read as text, and is not reported as ignored.
  fields: [...Object.keys(ExaContentsRequest.fields), "text"],
  read: readJson,
  decode: (fields) =>
    Result.flatMap(decodeContents(fields), ({ ids, urls = ids }) =>
      urls === undefined
        ? Result.fail(missing)
        : Result.succeed({
            rows: urls.map((url) => toWholePage({ url, format: "text", source: "compat:exa" })),
            answer: contentsAnswerTo(urls)
          })
    )
}

const exampleRequest: ExaRequest = { query: exampleResults.query, numResults: 5 }

export const exa: CompatService = {
  name: "exa",
  routes: [
    { group: ExaGroup, search },
    { group: ExaContentsGroup, pages: contents }
  ],
  toError: ({ _tag, message }) => ({
    status: statuses[_tag],
    body: { error: message, tag: _tag.toUpperCase() } satisfies ExaError
  }),
  examples: {
    compatExa: { request: exampleRequest, response: answerTo(exampleRequest)(exampleResults) },
    compatExaContents: {
      request: { urls: [exampleAddress] } satisfies ExaContentsRequest,
      response: Result.getOrThrow(contentsAnswerTo([exampleAddress])(examplePages))
    }
  }
}
