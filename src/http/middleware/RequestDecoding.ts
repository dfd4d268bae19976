import { Context, Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import { InvalidRequest } from "../../domain/errors.ts"
import { issuesOf } from "../../domain/fields.ts"
import { SpendsCredits } from "../Callers.ts"
import { withKeyIssue } from "../idempotencyKey.ts"
import { CurrentPrincipal, RequestDecoding } from "../Middleware.ts"

/** Parameters that do not fit are answered with every failure. What fails as the answer is encoded is a fault of ours. */
export const layer = HttpApiMiddleware.layerSchemaErrorTransform(
  RequestDecoding,
  Effect.fnUntraced(function* (error, { endpoint }) {
    if (error.kind !== "Query") return yield* Effect.fail(error)
    const parameters = yield* HttpServerRequest.ParsedSearchParams
    const failure = InvalidRequest.fromIssues(issuesOf(error.cause.issue, parameters))
    if (!Context.get(endpoint.annotations, SpendsCredits)) return yield* failure
    const request = yield* HttpServerRequest.HttpServerRequest
    return yield* withKeyIssue(request, yield* CurrentPrincipal, failure)
  })
)
