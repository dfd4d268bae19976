import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { statuses } from "../../http/errors.ts"
import { errorsOf } from "../CompatError.ts"
import { documented } from "../endpoints.ts"
import { Addresses } from "../fields.ts"
import { ExaError } from "../web/ExaGroup.ts"

export const ExaContentsRequest = Schema.Struct({
  urls: Schema.optionalKey(Addresses),
  /** The older name of `urls`: a result's ID is its address. */
  ids: Schema.optionalKey(Addresses)
}).annotate({ identifier: "ExaContentsRequest", message: "the body must be a JSON object with urls" })
export type ExaContentsRequest = typeof ExaContentsRequest.Type

export const ExaContentsAnswer = Schema.Struct({
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
export type ExaContentsAnswer = typeof ExaContentsAnswer.Type

export class ExaContentsGroup extends HttpApiGroup.make("compatExaContents")
  .add(
    HttpApiEndpoint.post("contents", "/compat/exa/contents", {
      payload: ExaContentsRequest,
      success: ExaContentsAnswer,
      error: errorsOf(ExaError, statuses)
    }).annotateMerge(
      documented({
        identifier: "compatExaContents",
        summary: "Read pages as in Exa",
        description: "Exa's contents. Costs a credit for each page that was read, and nothing for the others."
      })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "Exa, pages", description: "For programs that read pages with Exa" })) {}
