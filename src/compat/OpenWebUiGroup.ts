import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ownErrors } from "./CompatError.ts"
import { documented } from "./endpoints.ts"
import { Count, LongQuery } from "./fields.ts"

export const OpenWebUiRequest = Schema.Struct({
  query: LongQuery,
  count: Schema.optionalKey(Count.annotate({ description: "Maximum number of results; 10 if absent." }))
}).annotate({ identifier: "OpenWebUiRequest", message: "the body must be a JSON object with a query" })
export type OpenWebUiRequest = typeof OpenWebUiRequest.Type

export const OpenWebUiAnswer = Schema.Array(
  Schema.Struct({ link: Schema.String, title: Schema.String, snippet: Schema.String })
).annotate({ identifier: "OpenWebUiAnswer", description: "A response in the format of Open WebUI's external engine" })
export type OpenWebUiAnswer = typeof OpenWebUiAnswer.Type

export class OpenWebUiGroup extends HttpApiGroup.make("compatOpenWebUi")
  .add(
    HttpApiEndpoint.post("search", "/compat/openwebui", {
      payload: OpenWebUiRequest,
      success: OpenWebUiAnswer,
      error: ownErrors
    }).annotateMerge(
      documented({
        identifier: "compatOpenWebUi",
        summary: "Search as an external engine for Open WebUI",
        description: "The search that Open WebUI sends to the address in EXTERNAL_WEB_SEARCH_URL."
      })
    )
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Open WebUI", description: "For Open WebUI's external search engine" })
  ) {}
