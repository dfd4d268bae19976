import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { documented } from "./endpoints.ts"
import { ownErrors } from "./errors.ts"
import { Count, LongQuery } from "./fields.ts"

export const OpenWebUiRequest = Schema.Struct({
  query: LongQuery,
  count: Schema.optionalKey(Count.annotate({ description: "Most results wanted; 10 when absent." }))
}).annotate({ identifier: "OpenWebUiRequest", message: "the body must be a JSON object with a query" })
export type OpenWebUiRequest = typeof OpenWebUiRequest.Type

export const OpenWebUiAnswer = Schema.Array(
  Schema.Struct({ link: Schema.String, title: Schema.String, snippet: Schema.String })
).annotate({ identifier: "OpenWebUiAnswer", description: "An answer as Open WebUI's external engine reads it" })
export type OpenWebUiAnswer = typeof OpenWebUiAnswer.Type

export class OpenWebUiGroup extends HttpApiGroup.make("compatOpenWebUi")
  .add(
    HttpApiEndpoint.post("search", "/compat/openwebui", {
      payload: OpenWebUiRequest,
      success: OpenWebUiAnswer,
      error: ownErrors
    })
      .annotateMerge(documented())
      .annotateMerge(
        OpenApi.annotations({
          identifier: "compatOpenWebUi",
          summary: "Search as an external engine of Open WebUI",
          description: "The search that Open WebUI sends to the address in EXTERNAL_WEB_SEARCH_URL."
        })
      )
  )
  .annotateMerge(OpenApi.annotations({ title: "Open WebUI", description: "For Open WebUI's engine external" })) {}
