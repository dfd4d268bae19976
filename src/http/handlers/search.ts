import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { parseBulk } from "../../domain/search/BulkRequest.ts"
import type { RowBody } from "../../domain/search/BulkResult.ts"
import { parseParameters, type SearchRequest, toSearch } from "../../domain/search/SearchRequest.ts"
import { Bulk } from "../../services/search/Bulk.ts"
import { Search, type SearchSettlement } from "../../services/search/Search.ts"
import { CurrentRequest, type Timing } from "../CurrentRequest.ts"
import { CurrentPrincipal } from "../Gates.ts"
import { SearchGroup } from "../groups/SearchGroup.ts"
import { withKey } from "../requests/idempotencyKey.ts"
import { withQuotaHeaders } from "../responses/quota.ts"
import { withRetryAfter } from "../responses/retryAfter.ts"
import { SendsServerTiming } from "../responses/serverTiming.ts"
import { makeGatedRoute } from "../routes.ts"
import { type BatchForm, batch } from "./batches.ts"
import { encodeBulk, encodeLines, searchResponse } from "./searchResponses.ts"

type Request = HttpServerRequest.HttpServerRequest

/** Bypasses the declared schemas, which would check every row again. Contract tests cover the output. */
const query = (search: Search["Service"], isTimed: boolean) =>
  Effect.fnUntraced(function* (request: Request) {
    const state = yield* CurrentRequest
    const principal = yield* CurrentPrincipal
    const decoded = parseParameters(yield* HttpServerRequest.ParsedSearchParams)
    const [parameters, keyed] = yield* Effect.fromResult(withKey(request, principal, decoded))
    const asked = yield* Effect.fromResult(toSearch(parameters))
    const settlement = yield* withQuotaHeaders(
      state,
      keyed === undefined
        ? search.run(principal, asked)
        : withRetryAfter(search.runKeyed(keyed.principal, asked, keyed.key))
    )
    if (isTimed) state.timing = searchTiming(settlement)
    return searchResponse(yield* Effect.fromResult(settlement.body))
  })

const bulkForm: BatchForm<SearchRequest, RowBody> = { parse: parseBulk, encodeBody: encodeBulk, encodeLines }

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const gatedRoute = yield* makeGatedRoute
    const { endpoints } = SearchGroup
    const routes = {
      query: gatedRoute(endpoints.query, query(yield* Search, yield* SendsServerTiming)),
      bulk: gatedRoute(endpoints.bulk, batch(yield* Bulk, bulkForm))
    } satisfies Record<keyof typeof endpoints, unknown>
    yield* router.addAll(Object.values(routes))
  })
)

const searchTiming = ({ entry }: SearchSettlement): Timing => {
  if (entry === undefined) return { part: undefined, cache: undefined }
  if (entry.cached) return { part: undefined, cache: "hit" }
  return { part: { name: "provider", by: entry.provider, ms: entry.durationMs }, cache: "miss" }
}
