import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { maxPageRows } from "../../domain/pages/PagesRequest.ts"
import { Text } from "../../domain/requests/fields.ts"
import { errorsOf } from "../CompatError.ts"
import { documented } from "../endpoints.ts"
import { TavilyError, tavilyStatuses } from "../TavilyGroup.ts"

const urlsMessage = `must be an address, or a list of 1 to ${maxPageRows} addresses`

export const TavilyExtractRequest = Schema.Struct({
  urls: Schema.Union([
    Schema.String,
    Schema.Array(Schema.String).check(
      Schema.isMinLength(1, { message: urlsMessage }),
      Schema.isMaxLength(maxPageRows, { message: urlsMessage })
    )
  ])
    .annotate({ message: urlsMessage })
    .pipe(Schema.annotateKey({ messageMissingKey: "is required" })),
  format: Schema.optionalKey(
    Schema.Literals(["markdown", "text"]).annotate({ message: "must be markdown or text", default: "markdown" })
  ),
  api_key: Schema.optionalKey(Text.annotate({ description: "The API key, if no header has one." }))
}).annotate({ identifier: "TavilyExtractRequest", message: "the body must be a JSON object with urls" })
export type TavilyExtractRequest = typeof TavilyExtractRequest.Type

export const TavilyExtractAnswer = Schema.Struct({
  results: Schema.Array(
    Schema.Struct({
      url: Schema.String,
      raw_content: Schema.String.annotate({ description: "The page's text" }),
      images: Schema.Array(Schema.String).annotate({ description: "Always empty" })
    })
  ),
  failed_results: Schema.Array(Schema.Struct({ url: Schema.String, error: Schema.String })),
  response_time: Schema.Finite.annotate({ description: "Seconds" }),
  request_id: Schema.String
}).annotate({ identifier: "TavilyExtractAnswer", description: "A response in the format of Tavily's extract" })
export type TavilyExtractAnswer = typeof TavilyExtractAnswer.Type

export class TavilyExtractGroup extends HttpApiGroup.make("compatTavilyExtract")
  .add(
    HttpApiEndpoint.post("extract", "/compat/tavily/extract", {
      payload: TavilyExtractRequest,
      success: TavilyExtractAnswer,
      error: errorsOf(TavilyError, tavilyStatuses)
    }).annotateMerge(
      documented({
        identifier: "compatTavilyExtract",
        summary: "Read pages as in Tavily",
        description: "Tavily's extract. Costs a credit for each page that was read, and nothing for the others."
      })
    )
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Tavily, pages", description: "For programs that extract pages with Tavily" })
  ) {}
