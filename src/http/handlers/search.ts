import { Deferred, Effect, Exit, Fiber, Layer, Option, Stream } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { type BulkRows, parseBulk } from "../../domain/BulkRequest.ts"
import type { Principal } from "../../domain/Principal.ts"
import { parseParameters, toSearch } from "../../domain/SearchRequest.ts"
import { Bulk, type BulkSettlement, type StartedBatch } from "../../services/Bulk.ts"
import type { LedgerTimings, Receipt } from "../../services/Metering.ts"
import { type KeyError, Search, type SearchError, type SearchSettlement } from "../../services/Search.ts"
import { Api } from "../Api.ts"
import { wantsLines } from "../accept.ts"
import { readJson } from "../body.ts"
import { addLogFields, CurrentRequest, type LogFields, type RequestState, setHeaders } from "../CurrentRequest.ts"
import { makeGatedRoute } from "../gatedRoute.ts"
import { SearchGroup } from "../groups/SearchGroup.ts"
import { quotaErrorHeaders, quotaHeaders, quotaHeadersOf } from "../headers.ts"
import { withKey } from "../idempotencyKey.ts"
import { CurrentPrincipal } from "../Middleware.ts"
import { withRetryAfter } from "../retryAfter.ts"
import {
  bulkResponse,
  encodeLines,
  heartbeat,
  linesResponse,
  searchResponse,
  wholeLinesResponse
} from "./searchResponses.ts"

type Request = HttpServerRequest.HttpServerRequest

/**
 * The group without handlers, because `HttpApiBuilder` asks for every group of the definition. The cast says that it is
 * whole: `routes` has a handler for each of its endpoints.
 */
const group = HttpApiBuilder.group(Api, "search", (handlers) => handlers as never)

/**
 * Answers are handed over as the JSON that they are: the declared schemas would copy and check each row of what our own
 * types have made, and the contract's tests check what is sent.
 */
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

const batch = (bulk: Bulk["Service"]) =>
  Effect.fnUntraced(function* (request: Request) {
    const state = yield* CurrentRequest
    const principal = yield* CurrentPrincipal
    const body = parseBulk(yield* readJson(request))
    const [rows, keyed] = yield* Effect.fromResult(withKey(request, principal, body))
    addLogFields(state, { rows: rows.length })
    const inLines = wantsLines(request.headers.accept)
    if (inLines && keyed === undefined) {
      return yield* withQuotaOnFailure(state, streamed(state, bulk, principal, rows))
    }
    const onStart = <E>({ id, settlement }: StartedBatch<E>) => {
      addLogFields(state, { batch_id: id })
      state.work = logSettlement(state, settlement, bulkFacts)
    }
    const run =
      keyed === undefined
        ? bulk.run(principal, rows, onStart)
        : withRetryAfter(bulk.runKeyed(keyed.principal, rows, keyed.key, onStart))
    const settlement = yield* withQuotaOnFailure(state, run)
    addLogFields(state, bulkFacts(settlement))
    setHeaders(state, quotaHeaders(settlement.receipt))
    return inLines ? wholeLinesResponse(settlement.body, settlement.receipt.creditsUsed) : bulkResponse(settlement.body)
  })

const routes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const gatedRoute = yield* makeGatedRoute
    const { endpoints } = SearchGroup
    const routes = {
      query: gatedRoute(endpoints.query, query(yield* Search)),
      bulk: gatedRoute(endpoints.bulk, batch(yield* Bulk))
    } satisfies Record<keyof typeof endpoints, unknown>
    yield* router.addAll(Object.values(routes))
  })
)

export const layer = Layer.merge(group, routes)

/** The longest time without a line: the most common limit of proxies on an idle connection is a minute. */
const heartbeatInterval = "10 seconds"

/** Starts a batch, and answers its lines as they come. The access log's line waits for the last of them. */
const streamed = Effect.fnUntraced(function* (
  state: RequestState,
  bulk: Bulk["Service"],
  principal: Principal,
  rows: BulkRows
) {
  let isWhole = false
  const closed = yield* Deferred.make<void>()
  yield* Effect.addFinalizer(() => Deferred.succeed(closed, undefined))
  const batch = yield* bulk.stream(principal, rows, ({ id, settlement }) => {
    addLogFields(state, { batch_id: id })
    state.work = Effect.andThen(
      logSettlement(state, settlement, bulkFacts),
      Effect.map(Deferred.await(closed), () => {
        if (!isWhole) addLogFields(state, { outcome: "cut" })
      })
    )
  })
  setHeaders(state, quotaHeadersOf(batch.before))
  const next = Effect.timeoutOption(batch.take, heartbeatInterval)
  const lines = Stream.unfold(false, (isLast) => {
    isWhole = isLast
    if (isLast) return Effect.undefined
    return Effect.flatMap(next, (some) => {
      if (Option.isNone(some)) return Effect.succeed([heartbeat, false] as const)
      // The connection breaks, because a client must not take this for the end of the batch.
      if (some.value.length === 0) return Effect.die(new Error("the batch ended without its summary"))
      return Effect.succeed([encodeLines(some.value), some.value.at(-1)?.type === "summary"] as const)
    })
  })
  return linesResponse(lines)
})

/** Waits for a settlement whose caller has left, and adds its facts to the log line. */
export const logSettlement = <A, E>(
  state: RequestState,
  settlement: Fiber.Fiber<A, E>,
  factsOf: (settlement: A) => LogFields
): Effect.Effect<void> =>
  Effect.map(Fiber.await(settlement), (exit) => {
    if (Exit.isSuccess(exit)) addLogFields(state, factsOf(exit.value))
  })

export const searchFacts = ({ entry, receipt, timings }: SearchSettlement): LogFields => {
  const facts = toFacts(receipt, timings)
  if (entry === undefined) return facts
  const { cached, durationMs, provider } = entry
  return { ...facts, cached, search_ms: durationMs, ...(provider === undefined ? {} : { provider }) }
}

const bulkFacts = ({ body, receipt, timings }: BulkSettlement): LogFields => ({
  ...toFacts(receipt, timings),
  batch_id: body.batch_id,
  rows_failed: body.failed
})

const toFacts = ({ creditsUsed, isReplay }: Receipt, { reserveMs, settleMs }: LedgerTimings): LogFields => ({
  credits: creditsUsed,
  ...(isReplay === undefined ? {} : { replayed: isReplay }),
  reserve_ms: reserveMs,
  settle_ms: settleMs
})

/** A 402 carries the quota headers too. */
export const withQuotaOnFailure = <A, E extends SearchError | KeyError, R>(
  state: RequestState,
  run: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.tapError(run, (error) =>
    Effect.sync(() => {
      if (error._tag === "quota_exceeded") setHeaders(state, quotaErrorHeaders(error))
    })
  )
