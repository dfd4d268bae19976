import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { parseBulk } from "../../domain/BulkRequest.ts"
import type { QuotaExceeded } from "../../domain/errors.ts"
import { parse, queryStringForm } from "../../domain/SearchRequest.ts"
import { Bulk } from "../../services/Bulk.ts"
import type { Receipt, Waits } from "../../services/Metering.ts"
import { Search } from "../../services/Search.ts"
import { Api } from "../Api.ts"
import { readJson } from "../body.ts"
import { type Facts, note, setHeaders } from "../CurrentRequest.ts"
import { quotaHeaders, refusalHeaders } from "../headers.ts"
import { CurrentPrincipal } from "../Middleware.ts"

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
          const request = yield* Effect.fromResult(parse(query, queryStringForm))
          yield* note({ target: request.target })
          const { answer, receipt, record, waits } = yield* tellRefusal(search.run(yield* CurrentPrincipal, request))
          const { cached, durationMs, provider } = record
          yield* note({
            ...toFacts(receipt, waits),
            cached,
            search_ms: durationMs,
            ...(provider === undefined ? {} : { provider })
          })
          yield* setHeaders(quotaHeaders(receipt))
          return HttpServerResponse.jsonUnsafe(yield* Effect.fromResult(answer))
        })
      )
      .handleRaw(
        "bulk",
        // Raw, because the declared body is stricter than what is taken: a row that is wrong fails by itself (R16).
        Effect.fnUntraced(function* ({ request }) {
          const rows = yield* Effect.fromResult(parseBulk(yield* readJson(request)))
          yield* note({ rows: rows.length })
          const { receipt, result, waits } = yield* tellRefusal(bulk.run(yield* CurrentPrincipal, rows))
          yield* note({ ...toFacts(receipt, waits), batch_id: result.batch_id, rows_failed: result.failed })
          yield* setHeaders(quotaHeaders(receipt))
          return HttpServerResponse.jsonUnsafe(result)
        })
      )
  })
)

const toFacts = ({ creditsUsed }: Receipt, { reserveMs, settleMs }: Waits): Facts => ({
  credits: creditsUsed,
  reserve_ms: reserveMs,
  settle_ms: settleMs
})

/** A refusal carries the quota headers too. */
const tellRefusal = <A>(run: Effect.Effect<A, QuotaExceeded>) =>
  Effect.tapError(run, (error) => setHeaders(refusalHeaders(error)))
