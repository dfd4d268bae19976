import { Clock, Context, Effect, Exit, Fiber, Layer, Result, type Tracer } from "effect"
import { type AccountPrincipal, boundsOf, type Principal } from "../../domain/accounts/Principal.ts"
import type {
  IdempotencyInProgress,
  InvalidRequest,
  QuotaExceeded,
  UnsupportedParameter,
  UpstreamError,
  UpstreamTimeout
} from "../../domain/errors.ts"
import { forbiddenTarget } from "../../domain/keys/KeyBounds.ts"
import { keepSearch, restoreSearch } from "../../domain/search/KeptAnswer.ts"
import type { LogEntry } from "../../domain/search/LogEntry.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import type { SearchBody } from "../../domain/search/SearchResult.ts"
import { type LedgerTimings, makeMetering, type OpenHold, type Receipt, type Replay } from "../credits/Metering.ts"
import { Ids } from "../Ids.ts"
import { Limits } from "../providers/Limits.ts"
import { Providers, unservedError } from "../providers/Providers.ts"
import { RequestId } from "../telemetry/RequestId.ts"
import { describeOutcome, describeSearch, TraceQueryText, withSpan } from "../telemetry/Tracing.ts"
import { countSearch, makeDispatch, toBody, toLogEntry } from "./DispatchedSearch.ts"
import { keyedRequest, waitForFirst } from "./Idempotency.ts"

/** Charged and logged, except for replays and searches without a provider. */
export interface SearchSettlement {
  readonly body: Result.Result<SearchBody, UpstreamError | UpstreamTimeout>
  readonly receipt: Receipt
  /** Undefined if the search was not dispatched for this request. */
  readonly entry: LogEntry | undefined
  readonly timings: LedgerTimings
}

/** Errors before a search runs: no credits, a key that may not use the target (R50), or unsupported options (R62). */
export type SearchError = QuotaExceeded | UnsupportedParameter
export type KeyError = InvalidRequest | IdempotencyInProgress

export class Search extends Context.Service<
  Search,
  {
    /**
     * Reserves a credit, searches and settles. Interrupting the caller does not stop a dispatched search. `onStart`
     * receives the fiber that settles the search; it keeps running if the caller disconnects. After a defect, the
     * credit is returned.
     */
    readonly run: (
      principal: Principal,
      request: SearchRequest,
      onStart?: (settlement: Fiber.Fiber<SearchSettlement, SearchError>) => void
    ) => Effect.Effect<SearchSettlement, SearchError>
    /**
     * `run` for a request with an idempotency key (R44): a charged search is replayed for free. While the first request
     * is running, it waits for up to the time limit of a search. A caller that leaves during this wait starts no
     * search.
     */
    readonly runKeyed: (
      principal: AccountPrincipal,
      request: SearchRequest,
      key: string,
      onStart?: (settlement: Fiber.Fiber<SearchSettlement, SearchError | KeyError>) => void
    ) => Effect.Effect<SearchSettlement, SearchError | KeyError>
  }
>()("quarry/services/Search") {
  static readonly layer = Layer.effect(
    Search,
    Effect.gen(function* () {
      const deps: Deps = {
        metering: yield* makeMetering,
        ids: yield* Ids,
        dispatch: yield* makeDispatch,
        providers: yield* Providers
      }
      const scope = yield* Effect.scope

      const patience = (yield* Limits).providerTimeout

      // Runs in its own fiber and span: interrupting the caller ends only the wait.
      const start = <E>(
        principal: Principal,
        request: SearchRequest,
        reserve: Effect.Effect<OpenHold | Replay, E>,
        onStart: ((settlement: Fiber.Fiber<SearchSettlement, E | UnsupportedParameter>) => void) | undefined
      ) =>
        Effect.flatMap(
          Effect.forkIn(
            withSpan("Search.run", {}, (span) => runSearch(deps, principal, request, span, reserve)),
            scope,
            { startImmediately: true }
          ),
          (fiber) => {
            onStart?.(fiber)
            return Fiber.join(fiber)
          }
        )

      return Search.of({
        run: (principal, request, onStart) => start(principal, request, deps.metering.reserve(principal, 1), onStart),
        runKeyed: (principal, request, key, onStart) => {
          const reserve = deps.metering.reserveKeyed(principal, 1, keyedRequest("query", key, request))
          return waitForFirst(patience)(start(principal, request, reserve, onStart))
        }
      })
    })
  )
}

interface Deps {
  readonly metering: Effect.Success<typeof makeMetering>
  readonly ids: Ids["Service"]
  readonly dispatch: Effect.Success<typeof makeDispatch>
  readonly providers: Providers["Service"]
}

/** Such searches are free, even if the account has no credits left. */
const answerUnserved = Effect.fnUntraced(function* ({ metering }: Deps, principal: Principal, span: Tracer.Span) {
  describeOutcome(span, { outcome: unservedError._tag, credits: 0, cached: false, dispatched: false })
  const receipt = yield* metering.emptyReceipt(principal)
  return { body: Result.fail(unservedError), receipt, entry: undefined, timings: { reserveMs: 0, settleMs: 0 } }
})

const replay = ({ receipt, text }: Replay, span: Tracer.Span, reserveMs: number): SearchSettlement => {
  const body = restoreSearch(text)
  const outcome = Result.isSuccess(body) ? "ok" : body.failure._tag
  describeOutcome(span, { outcome, credits: 0, cached: false, dispatched: false })
  return { body, receipt, entry: undefined, timings: { reserveMs, settleMs: 0 } }
}

/** Only the dispatch can be interrupted, so that every hold is settled. */
const runSearch = Effect.fnUntraced(function* <E>(
  deps: Deps,
  principal: Principal,
  request: SearchRequest,
  span: Tracer.Span,
  reserve: Effect.Effect<OpenHold | Replay, E>
): Effect.fn.Return<SearchSettlement, E | UnsupportedParameter> {
  const { dispatch, ids, providers } = deps
  describeSearch(span, request, yield* TraceQueryText)
  const allowed = boundsOf(principal)?.targets
  if (allowed?.includes(request.target) === false) return yield* forbiddenTarget(request.target, allowed)
  const unsupported = providers.unsupported(request)
  if (unsupported !== undefined) return yield* unsupported
  if (!(yield* providers.serves(request.target))) return yield* answerUnserved(deps, principal, span)
  const clock = yield* Clock.Clock
  const startedAt = clock.currentTimeMillisUnsafe()
  const hold = yield* reserve
  const reservedAt = clock.currentTimeMillisUnsafe()
  if ("text" in hold) return replay(hold, span, reservedAt - startedAt)
  const exit = yield* Effect.exit(Effect.interruptible(dispatch(request)))
  if (Exit.isFailure(exit)) {
    yield* hold.settle([])
    return yield* Effect.failCause(exit.cause)
  }
  const place = { id: yield* ids.make("qry_"), batchId: undefined, rowIndex: undefined, requestId: yield* RequestId }
  const entry = toLogEntry(principal, request, place, exit.value)
  yield* countSearch("search", entry)
  describeOutcome(span, { ...entry, dispatched: true })
  const answeredAt = clock.currentTimeMillisUnsafe()
  const body = Result.map(exit.value.answer, ({ ranking }) => toBody(entry.id, request, ranking))
  const receipt = yield* hold.settle([entry], () => keepSearch(body))
  const settleMs = clock.currentTimeMillisUnsafe() - answeredAt
  return {
    body,
    receipt,
    entry,
    timings: { reserveMs: reservedAt - startedAt, settleMs }
  }
}, Effect.uninterruptible)
