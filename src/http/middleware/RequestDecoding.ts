import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import { InvalidRequest } from "../../domain/errors.ts"
import { issuesOf } from "../../domain/requests/fields.ts"
import { RequestDecoding } from "../Gates.ts"

/** Reports every invalid parameter. A failure to encode the response is a defect. */
export const layer = HttpApiMiddleware.layerSchemaErrorTransform(
  RequestDecoding,
  Effect.fnUntraced(function* (error) {
    if (error.kind !== "Query") return yield* Effect.fail(error)
    const parameters = yield* HttpServerRequest.ParsedSearchParams
    return yield* InvalidRequest.fromIssues(issuesOf(error.cause.issue, parameters))
  })
)
