import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { builders } from "../../domain/accounts/Role.ts"
import { BulkRequest } from "../../domain/search/BulkRequest.ts"
import { BulkResult } from "../../domain/search/BulkResult.ts"
import { SearchParameters } from "../../domain/search/SearchRequest.ts"
import { SearchResult } from "../../domain/search/SearchResult.ts"
import { accepting, acceptingSessions, SpendsCredits, TakesIdempotencyKey } from "../Callers.ts"
import {
  IdempotencyInProgress,
  InternalError,
  InvalidRequest,
  QuotaExceeded,
  UnsupportedGeo,
  UnsupportedParameter,
  UpstreamError,
  UpstreamTimeout
} from "../errors.ts"
import { Gates, RequestDecoding } from "../Gates.ts"

export class SearchGroup extends HttpApiGroup.make("search")
  .add(
    HttpApiEndpoint.get("query", "/v1/query", {
      query: SearchParameters,
      success: SearchResult,
      error: [
        InvalidRequest,
        UnsupportedGeo,
        UnsupportedParameter,
        QuotaExceeded,
        IdempotencyInProgress,
        InternalError,
        UpstreamError,
        UpstreamTimeout
      ]
    })
      .middleware(RequestDecoding)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "query",
          summary: "Run one search",
          description:
            "Runs one search and returns its organic results. Costs one credit if the status is 200, 502 or 504."
        })
      ),
    HttpApiEndpoint.post("bulk", "/v1/bulk", {
      payload: BulkRequest,
      success: BulkResult,
      error: [InvalidRequest, QuotaExceeded, IdempotencyInProgress, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "bulk",
        summary: "Run up to 50 searches",
        description:
          "Runs the rows concurrently within one 60-second budget. A row that fails is an error row; the request still " +
          "succeeds. Costs one credit for each row dispatched to a provider. With Accept: application/x-ndjson each row " +
          "is sent as a line when it finishes. A stream that ends without a summary line is incomplete."
      })
    )
  )
  .annotateEndpointsMerge(accepting("key", "marketplace", "demo"))
  .pipe(acceptingSessions({ query: builders, bulk: builders }))
  .annotateEndpoints(SpendsCredits, true)
  .annotateEndpoints(TakesIdempotencyKey, true)
  .middleware(Gates)
  .annotateMerge(OpenApi.annotations({ title: "Search", description: "Web searches" })) {}
