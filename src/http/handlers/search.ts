import { Effect, type Fiber, Layer } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { parseBulk } from "../../domain/search/BulkRequest.ts"
import type { RowBody } from "../../domain/search/BulkResult.ts"
import { parseParameters, type SearchRequest, toSearch } from "../../domain/search/SearchRequest.ts"
import { Bulk } from "../../services/search/Bulk.ts"
import { Search, type SearchSettlement } from "../../services/search/Search.ts"
import { Api } from "../Api.ts"
import { addLogFields, CurrentRequest, type LogFields, setHeaders } from "../CurrentRequest.ts"
import { CurrentPrincipal } from "../Gates.ts"
import { makeGatedRoute } from "../gatedRoute.ts"
import { SearchGroup } from "../groups/SearchGroup.ts"
import { withKey } from "../requests/idempotencyKey.ts"
import { quotaHeaders } from "../responses/headers.ts"
import { withRetryAfter } from "../responses/retryAfter.ts"
import { type BatchForm, batch } from "./batches.ts"
import { encodeBulk, encodeLines, searchResponse } from "./searchResponses.ts"
import { ledgerFacts, logSettlement, withQuotaOnFailure } from "./settlements.ts"

type Request = HttpServerRequest.HttpServerRequest

/** `HttpApiBuilder` requires every group. The cast is safe because `routes` handles each endpoint. */
const group = HttpApiBuilder.group(Api, "search", (handlers) => handlers as never)

/** Bypasses the declared schemas, which would check every row again. Contract tests cover the output. */
const query = (search: Search["Service"]) =>
  Effect.fnUntraced(function* (request: Request) {
    const state = yield* CurrentRequest
    const principal = yield* CurrentPrincipal
    const decoded = parseParameters(yield* HttpServerRequest.ParsedSearchParams)
    const [parameters, keyed] = yield* Effect.fromResult(withKey(request, principal, decoded))
    const asked = yield* Effect.fromResult(toSearch(parameters))
    addLogFields(state, { target: asked.target })
    const onStart = <E>(settlement: Fiber.Fiber<SearchSettlement, E>) => {
      state.work = logSettlement(state, settlement, searchFacts)
    }
    const run =
      keyed === undefined
        ? search.run(principal, asked, onStart)
        : withRetryAfter(search.runKeyed(keyed.principal, asked, keyed.key, onStart))
    const settlement = yield* withQuotaOnFailure(state, run)
    addLogFields(state, searchFacts(settlement))
    setHeaders(state, quotaHeaders(settlement.receipt))
    return searchResponse(yield* Effect.fromResult(settlement.body))
  })

const bulkForm: BatchForm<SearchRequest, RowBody> = { parse: parseBulk, encodeBody: encodeBulk, encodeLines }

const routes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const gatedRoute = yield* makeGatedRoute
    const { endpoints } = SearchGroup
    const routes = {
      query: gatedRoute(endpoints.query, query(yield* Search)),
      bulk: gatedRoute(endpoints.bulk, batch(yield* Bulk, bulkForm))
    } satisfies Record<keyof typeof endpoints, unknown>
    yield* router.addAll(Object.values(routes))
  })
)

export const layer = Layer.merge(group, routes)

export const searchFacts = ({ entry, receipt, timings }: SearchSettlement): LogFields => {
  const facts = ledgerFacts(receipt, timings)
  if (entry === undefined) return facts
  const { cached, durationMs, provider } = entry
  return { ...facts, cached, search_ms: durationMs, ...(provider === undefined ? {} : { provider }) }
}
