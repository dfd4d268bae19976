import { Effect, Exit, Fiber } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { parseBulk } from "../../domain/BulkRequest.ts"
import type { QuotaExceeded } from "../../domain/errors.ts"
import { toSearch } from "../../domain/SearchRequest.ts"
import { Bulk, type BulkSettlement } from "../../services/Bulk.ts"
import type { LedgerTimings, Receipt } from "../../services/Metering.ts"
import { Search, type SearchSettlement } from "../../services/Search.ts"
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
          const run = search.run(yield* CurrentPrincipal, request, (settlement) => {
            state.work = logSettlement(state, settlement, searchFacts)
          })
          const settlement = yield* withQuotaOnFailure(state, run)
          addLogFields(state, searchFacts(settlement))
          setHeaders(state, quotaHeaders(settlement.receipt))
          return searchResponse(yield* Effect.fromResult(settlement.body))
        })
      )
      .handleRaw(
        "bulk",
        // Raw, because the body is read under the limits of `readJson`. `parseBulk` decodes it with the payload's fields.
        Effect.fnUntraced(function* ({ request }) {
          const state = yield* CurrentRequest
          const rows = yield* Effect.fromResult(parseBulk(yield* readJson(request)))
          addLogFields(state, { rows: rows.length })
          const run = bulk.run(yield* CurrentPrincipal, rows, ({ id, settlement }) => {
            addLogFields(state, { batch_id: id })
            state.work = logSettlement(state, settlement, bulkFacts)
          })
          const settlement = yield* withQuotaOnFailure(state, run)
          addLogFields(state, bulkFacts(settlement))
          setHeaders(state, quotaHeaders(settlement.receipt))
          return bulkResponse(settlement.body)
        })
      )
  })
)

/** Waits for a settlement whose caller has left, and adds its facts to the log line. */
const logSettlement = <A, E>(
  state: RequestState,
  settlement: Fiber.Fiber<A, E>,
  factsOf: (settlement: A) => LogFields
): Effect.Effect<void> =>
  Effect.map(Fiber.await(settlement), (exit) => {
    if (Exit.isSuccess(exit)) addLogFields(state, factsOf(exit.value))
  })

const searchFacts = ({ entry, receipt, timings }: SearchSettlement): LogFields => {
  const facts = toFacts(receipt, timings)
  if (entry === undefined) return facts
  const { cached, durationMs, provider } = entry
  return { ...facts, cached, search_ms: durationMs, ...(provider === undefined ? {} : { provider }) }
}

const bulkFacts = ({ body, receipt, timings }: BulkSettlement): LogFields => ({
  ...toFacts(receipt, timings),
  rows_failed: body.failed
})

const toFacts = ({ creditsUsed }: Receipt, { reserveMs, settleMs }: LedgerTimings): LogFields => ({
  credits: creditsUsed,
  reserve_ms: reserveMs,
  settle_ms: settleMs
})

/** A 402 carries the quota headers too. */
const withQuotaOnFailure = <A>(state: RequestState, run: Effect.Effect<A, QuotaExceeded>) =>
  Effect.tapError(run, (error) => Effect.sync(() => setHeaders(state, quotaErrorHeaders(error))))
