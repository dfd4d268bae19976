import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { builders } from "../../domain/accounts/Role.ts"
import { PageResult } from "../../domain/pages/PageBody.ts"
import { PageParameters } from "../../domain/pages/PageRequest.ts"
import { PagesRequest, PagesResult } from "../../domain/pages/PagesRequest.ts"
import { accepting, acceptingSessions, SpendsCredits, TakesIdempotencyKey } from "../Callers.ts"
import {
  IdempotencyInProgress,
  InternalError,
  InvalidRequest,
  PageUnreadable,
  QuotaExceeded,
  UnsupportedParameter,
  UpstreamError,
  UpstreamTimeout
} from "../errors.ts"
import { Gates, RequestDecoding } from "../Gates.ts"

export class PagesGroup extends HttpApiGroup.make("pages")
  .add(
    HttpApiEndpoint.get("page", "/v1/page", {
      query: PageParameters,
      success: PageResult,
      error: [
        InvalidRequest,
        UnsupportedParameter,
        QuotaExceeded,
        IdempotencyInProgress,
        PageUnreadable,
        InternalError,
        UpstreamError,
        UpstreamTimeout
      ]
    })
      .middleware(RequestDecoding)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "page",
          summary: "Read one page",
          description:
            "Fetches a page of the public web and returns its main text as Markdown or plain text. Costs one credit if " +
            "the status is 200, and nothing otherwise."
        })
      ),
    HttpApiEndpoint.post("pages", "/v1/pages", {
      payload: PagesRequest,
      success: PagesResult,
      error: [InvalidRequest, QuotaExceeded, IdempotencyInProgress, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "pages",
        summary: "Read up to 20 pages",
        description:
          "Reads the pages concurrently within one 60-second budget. A page that cannot be read is an error row; the " +
          "request still succeeds. Costs one credit for each page that was read. With Accept: application/x-ndjson each row is " +
          "sent as a line when it finishes. A stream that ends without a summary line is incomplete."
      })
    )
  )
  .annotateEndpointsMerge(accepting("key", "marketplace"))
  .pipe(acceptingSessions({ page: builders, pages: builders }))
  .annotateEndpoints(SpendsCredits, true)
  .annotateEndpoints(TakesIdempotencyKey, true)
  .middleware(Gates)
  .annotateMerge(OpenApi.annotations({ title: "Pages", description: "The text of web pages" })) {}
