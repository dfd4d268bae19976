import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { Timing } from "../../domain/requests/CurrentRequest.ts"
import { CurrentRequest } from "../../domain/requests/CurrentRequest.ts"
import { parseBulk } from "../../domain/search/BulkRequest.ts"
import type { RowBody } from "../../domain/search/BulkResult.ts"
import { type SearchRequest, toSearch } from "../../domain/search/SearchRequest.ts"
import { Bulk } from "../../services/search/Bulk.ts"
import { Search, type SearchSettlement } from "../../services/search/Search.ts"
import { Api } from "../Api.ts"
import { builtWith } from "../builtWith.ts"
import { CurrentPrincipal, Gates, RequestDecoding } from "../Gates.ts"
import { idempotencyKey } from "../requests/idempotencyKey.ts"
import { receiptOf, withQuotaHeaders } from "../responses/quota.ts"
import { withRetryAfter } from "../responses/retryAfter.ts"
import { SendsServerTiming } from "../responses/serverTiming.ts"
import { type BatchForm, batch } from "./batches.ts"
import { encodeBulk, encodeLine, searchResponse } from "./searchResponses.ts"

const bulkForm: BatchForm<SearchRequest, RowBody> = { parse: parseBulk, encodeBody: encodeBulk, encodeLine }

/** Responses bypass the declared schemas, which would check every row again. Contract tests cover the output. */
export const layer = HttpApiBuilder.group(
  Api,
  "search",
  Effect.fn(function* (handlers) {
    const search = yield* Search
    const isTimed = yield* SendsServerTiming
    const runBatch = batch(yield* Bulk, bulkForm)

    return (
      handlers
        .handle(
          "query",
          Effect.fnUntraced(function* ({ query }) {
            const principal = yield* CurrentPrincipal
            const keyed = yield* idempotencyKey
            const asked = yield* Effect.fromResult(toSearch(query))
            const settlement = yield* withQuotaHeaders(
              keyed === undefined
                ? search.run(principal, asked)
                : withRetryAfter(search.runKeyed(keyed.principal, asked, keyed.key)),
              receiptOf
            )
            if (isTimed) (yield* CurrentRequest).timing = searchTiming(settlement)
            return searchResponse(yield* Effect.fromResult(settlement.body))
          })
        )
        // Raw, because an invalid row of the declared body is an error of that row alone (R16).
        .handleRaw("bulk", ({ request }) => runBatch(request))
    )
  })
).pipe(builtWith(Search, Bulk, SendsServerTiming, Gates, RequestDecoding))

const searchTiming = ({ entry }: SearchSettlement): Timing => {
  if (entry === undefined) return { part: undefined, cache: undefined }
  if (entry.cached) return { part: undefined, cache: "hit" }
  return { part: { name: "provider", by: entry.provider, ms: entry.durationMs }, cache: "miss" }
}
