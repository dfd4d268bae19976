import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { PageUnreadable } from "../../http/errors.ts"
import { ownErrors } from "../CompatError.ts"
import { documented } from "../endpoints.ts"
import { Addresses } from "../fields.ts"

export const OpenWebUiLoadRequest = Schema.Struct({
  urls: Addresses.pipe(Schema.annotateKey({ messageMissingKey: "is required" }))
}).annotate({ identifier: "OpenWebUiLoadRequest", message: "the body must be a JSON object with urls" })
export type OpenWebUiLoadRequest = typeof OpenWebUiLoadRequest.Type

export const OpenWebUiLoadAnswer = Schema.Array(
  Schema.Struct({
    page_content: Schema.String,
    metadata: Schema.Struct({ source: Schema.String, title: Schema.String })
  })
).annotate({
  identifier: "OpenWebUiLoadAnswer",
  description: "The pages that were read, in the format of Open WebUI's external loader"
})
export type OpenWebUiLoadAnswer = typeof OpenWebUiLoadAnswer.Type

export class OpenWebUiLoadGroup extends HttpApiGroup.make("compatOpenWebUiLoad")
  .add(
    HttpApiEndpoint.post("load", "/compat/openwebui/load", {
      payload: OpenWebUiLoadRequest,
      success: OpenWebUiLoadAnswer,
      error: [...ownErrors, PageUnreadable]
    }).annotateMerge(
      documented({
        identifier: "compatOpenWebUiLoad",
        summary: "Read pages as an external loader for Open WebUI",
        description:
          "The request that Open WebUI sends to EXTERNAL_WEB_LOADER_URL. Pages that cannot be read are left out; if " +
          "none can be read, the response is the first page's error. Costs a credit for each page that was read."
      })
    )
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Open WebUI, pages", description: "For Open WebUI's external web loader" })
  ) {}
