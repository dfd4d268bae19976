import { Context, Effect, Layer, Metric, Result, type Tracer } from "effect"
import type { AccountPrincipal, Principal } from "../../domain/accounts/Principal.ts"
import type { UpstreamError, UpstreamTimeout } from "../../domain/errors.ts"
import { keepSearch, restoreSearch } from "../../domain/search/KeptAnswer.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import type { SearchBody } from "../../domain/search/SearchResult.ts"
import { admitTarget, charged, makeStart, type Settlement, type SingleError, uncharged } from "../charging/Charge.ts"
import { type KeyError, keyedRequest, waitForFirst } from "../charging/Idempotency.ts"
import { makeMetering, type Reserve } from "../charging/Metering.ts"
import { Ids } from "../Ids.ts"
import { Attempts } from "../providers/Attempts.ts"
import { Limits } from "../providers/Limits.ts"
import { Providers } from "../providers/Providers.ts"
import { searchDuration } from "../telemetry/Metrics.ts"
import { addFields, requestId } from "../telemetry/recording.ts"
import { describeSearch, TraceQueryText } from "../telemetry/Tracing.ts"
import { Answers } from "./Answers.ts"
import { countSearch, makeDispatch, toBody, toLogEntry, unsentSearch } from "./DispatchedSearch.ts"

export type SearchSettlement = Settlement<SearchBody, UpstreamError | UpstreamTimeout>

/** Runs single searches. Failed searches are charged too, except those for which no provider was asked (R76). */
export class Search extends Context.Service<
  Search,
  {
    /**
     * Reserves a credit, runs the search and settles. Interrupting the caller ends only the wait: a search that was
     * dispatched is settled. After a defect, the credit is returned.
     */
    readonly run: (principal: Principal, request: SearchRequest) => Effect.Effect<SearchSettlement, SingleError>
    /**
     * `run` for a request with an idempotency key (R44): a charged search is replayed for free. While the first request
     * is running, it waits for up to the time limit of one. A caller that leaves during this wait starts nothing.
     */
    readonly runKeyed: (
      principal: AccountPrincipal,
      request: SearchRequest,
      key: string
    ) => Effect.Effect<SearchSettlement, SingleError | KeyError>
  }
>()("quarry/services/search/Search") {
  static readonly layer = Layer.effect(
    Search,
    Effect.suspend(() => make)
  ).pipe(Layer.provide(Answers.layer))
}

const make = Effect.gen(function* () {
  const start = yield* makeStart
  const { reserve, reserveKeyed } = yield* makeMetering
  const dispatch = yield* makeDispatch
  const providers = yield* Providers
  const ids = yield* Ids
  const { providerTimeout } = yield* Limits

  const search = <E>(principal: Principal, request: SearchRequest, reserve: Reserve<E>) =>
    start("Search.run", (span) => steps(span, principal, request, reserve))

  const steps = Effect.fnUntraced(function* <E>(
    span: Tracer.Span,
    principal: Principal,
    request: SearchRequest,
    reserveFor: Reserve<E>
  ): Effect.fn.Return<SearchSettlement, E | SingleError> {
    const { target } = request
    describeSearch(span, request, yield* TraceQueryText)
    yield* addFields({ target })
    yield* admitTarget(principal, target)
    const unserved = yield* providers.check(request)
    if (unserved !== undefined) {
      const hold = yield* reserve(principal, 0)
      return uncharged(span, Result.fail(unserved), yield* hold.settle([]))
    }
    const hold = yield* reserveFor(1)
    if ("text" in hold) return uncharged(span, restoreSearch(hold.text), hold.receipt)
    const run = Effect.interruptible(dispatch({ principal, request, attempts: new Attempts() }))
    const end = yield* Effect.onError(run, () => hold.settle([]))
    const unsent = unsentSearch(end)
    if (unsent !== undefined) {
      yield* Metric.update(searchDuration.of("search", target, unsent._tag, "false"), end.durationMs / 1000)
      return uncharged(span, Result.fail(unsent), yield* hold.settle([]))
    }
    const id = yield* ids.make("qry_")
    const place = { id, batchId: undefined, rowIndex: undefined, requestId: yield* requestId }
    const entry = toLogEntry(principal, request, place, end)
    yield* countSearch("search", entry)
    const body = Result.map(end.answer, ({ ranking }) => toBody(id, request, ranking))
    return yield* charged(span, hold, entry, body, keepSearch)
  })

  return Search.of({
    run: (principal, request) => search(principal, request, (credits) => reserve(principal, credits)),
    runKeyed: (principal, request, key) => {
      const keyed = keyedRequest("query", key, request)
      return waitForFirst(providerTimeout)(
        search(principal, request, (credits) => reserveKeyed(principal, credits, keyed))
      )
    }
  })
})
