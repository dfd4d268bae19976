import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { parseBulk } from "../../domain/BulkRequest.ts"
import type { QuotaExceeded } from "../../domain/errors.ts"
import { toSearch } from "../../domain/SearchRequest.ts"
import { Bulk } from "../../services/Bulk.ts"
import type { LedgerTimings, Receipt } from "../../services/Metering.ts"
import { Search } from "../../services/Search.ts"
import { Api } from "../Api.ts"
import { readJson } from "../body.ts"
import { addLogFields, CurrentRequest, type LogFields, type RequestState, setHeaders } from "../CurrentRequest.ts"
import { quotaErrorHeaders, quotaHeaders } from "../headers.ts"
import { CurrentPrincipal } from "../Middleware.ts"
import { bulkResponse, searchResponse } from "./searchResponses.ts"

/**
 * Answers are handed over as the JSON that they are: the declared schemas would copy and check each row of what our own
 * types have made, and the contract's tests check what is sent.
 */
export const layer = HttpApiBuilder.group(
  Api,
  "search",
  Effect.fn(function* (handlers) {
    const search = yield* Search
    const bulk = yield* Bulk

    return handlers
      .handle(
        "query",
        Effect.fnUntraced(function* ({ query }) {
          const state = yield* CurrentRequest
          const request = yield* Effect.fromResult(toSearch(query))
          addLogFields(state, { target: request.target })
          const run = search.run(yield* CurrentPrincipal, request)
          const { body, receipt, entry, timings } = yield* withQuotaOnFailure(state, run)
          const { cached, durationMs, provider } = entry
          addLogFields(state, {
            ...toFacts(receipt, timings),
            cached,
            search_ms: durationMs,
            ...(provider === undefined ? {} : { provider })
          })
          setHeaders(state, quotaHeaders(receipt))
          return searchResponse(yield* Effect.fromResult(body))
        })
      )
      .handleRaw(
        "bulk",
        // Raw, because the body is read under the limits of `readJson`. `parseBulk` decodes it with the payload's fields.
        Effect.fnUntraced(function* ({ request }) {
          const state = yield* CurrentRequest
          const rows = yield* Effect.fromResult(parseBulk(yield* readJson(request)))
          addLogFields(state, { rows: rows.length })
          const { body, receipt, timings } = yield* withQuotaOnFailure(state, bulk.run(yield* CurrentPrincipal, rows))
          addLogFields(state, { ...toFacts(receipt, timings), batch_id: body.batch_id, rows_failed: body.failed })
          setHeaders(state, quotaHeaders(receipt))
          return bulkResponse(body)
        })
      )
  })
)

const toFacts = ({ creditsUsed }: Receipt, { reserveMs, settleMs }: LedgerTimings): LogFields => ({
  credits: creditsUsed,
  reserve_ms: reserveMs,
  settle_ms: settleMs
})

/** A 402 carries the quota headers too. */
const withQuotaOnFailure = <A>(state: RequestState, run: Effect.Effect<A, QuotaExceeded>) =>
  Effect.tapError(run, (error) => Effect.sync(() => setHeaders(state, quotaErrorHeaders(error))))
