import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Text } from "../../domain/requests/fields.ts"
import { statuses } from "../../http/errors.ts"
import { errorsOf } from "../CompatError.ts"
import { documented } from "../endpoints.ts"
import { Count, domains, LongQuery } from "../fields.ts"

export const ExaRequest = Schema.Struct({
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
export type ExaRequest = typeof ExaRequest.Type

export const ExaAnswer = Schema.Struct({
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
export type ExaAnswer = typeof ExaAnswer.Type

export const ExaError = Schema.Struct({
  requestId: Schema.optionalKey(Schema.String),
  error: Schema.String.annotate({ description: "Human-readable error message" }),
  tag: Schema.String
}).annotate({ identifier: "ExaError", description: "An error in Exa's format" })
export type ExaError = typeof ExaError.Type

export class ExaGroup extends HttpApiGroup.make("compatExa")
  .add(
    HttpApiEndpoint.post("search", "/compat/exa/search", {
      payload: ExaRequest,
      success: ExaAnswer,
      error: errorsOf(ExaError, statuses)
    }).annotateMerge(
      documented({
        identifier: "compatExa",
        summary: "Search as in Exa",
        description: "Exa's search, with links and snippets but no page contents, dates or summaries."
      })
    )
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Exa", description: "For programs with a configurable address for Exa" })
  ) {}
