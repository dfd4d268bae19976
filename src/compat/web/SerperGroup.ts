import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Text } from "../../domain/requests/fields.ts"
import { statuses } from "../../http/errors.ts"
import { errorsOf } from "../CompatError.ts"
import { documented } from "../endpoints.ts"
import { Count, LongQuery } from "../fields.ts"

export const SerperRequest = Schema.Struct({
  q: LongQuery,
  gl: Schema.optionalKey(Text.annotate({ description: "An ISO 3166-1 code." })),
  hl: Schema.optionalKey(Text.annotate({ description: "A language tag such as de or pt-br." })),
  num: Schema.optionalKey(Count.annotate({ description: "Maximum number of results; 10 if absent." })),
  page: Schema.optionalKey(Count.annotate({ description: "Result page, from 1; 1 if absent." }))
}).annotate({ identifier: "SerperRequest", message: "the body must be a JSON object with q" })
export type SerperRequest = typeof SerperRequest.Type

export const SerperAnswer = Schema.Struct({
  searchParameters: Schema.Struct({
    q: Schema.String,
    type: Schema.String,
    engine: Schema.String,
    gl: Schema.optionalKey(Schema.String),
    hl: Schema.optionalKey(Schema.String),
    num: Schema.optionalKey(Schema.Int),
    page: Schema.optionalKey(Schema.Int)
  }),
  organic: Schema.Array(
    Schema.Struct({ title: Schema.String, link: Schema.String, snippet: Schema.String, position: Schema.Int })
  ),
  credits: Schema.Int
}).annotate({ identifier: "SerperAnswer", description: "A response in Serper's format" })
export type SerperAnswer = typeof SerperAnswer.Type

export const SerperError = Schema.Struct({
  message: Schema.String.annotate({ description: "Human-readable error message" }),
  statusCode: Schema.Int
}).annotate({ identifier: "SerperError", description: "An error in Serper's format" })
export type SerperError = typeof SerperError.Type

export class SerperGroup extends HttpApiGroup.make("compatSerper")
  .add(
    HttpApiEndpoint.post("search", "/compat/serper/search", {
      payload: SerperRequest,
      success: SerperAnswer,
      error: errorsOf(SerperError, statuses)
    }).annotateMerge(
      documented({
        identifier: "compatSerper",
        summary: "Search as in Serper",
        description:
          "Serper's web search, with organic results alone: no knowledge graph, questions or related searches."
      })
    )
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Serper", description: "For programs with a configurable address for Serper" })
  ) {}
