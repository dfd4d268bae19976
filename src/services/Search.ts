import { Clock, Context, Effect, Exit, Fiber, Layer, Result, type Tracer } from "effect"
import type { QuotaExceeded, UpstreamError, UpstreamTimeout } from "../domain/errors.ts"
import type { LogEntry } from "../domain/LogEntry.ts"
import type { Principal } from "../domain/Principal.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import type { SearchBody } from "../domain/SearchResult.ts"
import { countSearch, makeDispatch, toBody, toLogEntry } from "./Dispatch.ts"
import { Ids } from "./Ids.ts"
import { type LedgerTimings, makeMetering, type Receipt } from "./Metering.ts"
import { Providers, unservedError } from "./Providers.ts"
import { RequestId } from "./RequestId.ts"
import { describeOutcome, describeSearch, TraceQueryText, withSpan } from "./Tracing.ts"

/**
 * A search after its settlement. It is charged and logged, with a body or an upstream error. One whose target nobody
 * serves is neither.
 */
export interface SearchSettlement {
  readonly body: Result.Result<SearchBody, UpstreamError | UpstreamTimeout>
  readonly receipt: Receipt
  /** The log entry; undefined where the search was not dispatched. */
  readonly entry: LogEntry | undefined
  readonly timings: LedgerTimings
}

/** Runs one search, from reservation to settlement. */
export class Search extends Context.Service<
  Search,
  {
    /**
     * Reserves a credit, searches, and settles before it answers. The caller's interruption does not stop a dispatched
     * search: it is finished, logged and charged; `onStart` gets what goes on without the caller. After a defect the
     * credit is returned.
     */
    readonly run: (
      principal: Principal,
      request: SearchRequest,
      onStart?: (settlement: Fiber.Fiber<SearchSettlement, QuotaExceeded>) => void
    ) => Effect.Effect<SearchSettlement, QuotaExceeded>
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

      // Runs in a fiber of its own, with its span: an interruption of the caller ends the wait and not the search.
      const run: Search["Service"]["run"] = (principal, request, onStart) =>
        Effect.flatMap(
          Effect.forkIn(
            withSpan("Search.run", {}, (span) => runSearch(deps, principal, request, span)),
            scope,
            { startImmediately: true }
          ),
          (fiber) => {
            onStart?.(fiber)
            return Fiber.join(fiber)
          }
        )

      return Search.of({ run })
    })
  )
}

interface Deps {
  readonly metering: Effect.Success<typeof makeMetering>
  readonly ids: Ids["Service"]
  readonly dispatch: Effect.Success<typeof makeDispatch>
  readonly providers: Providers["Service"]
}

/** Answers a search whose target nobody serves. It is not charged, not even where no credits are left. */
const answerUnserved = Effect.fnUntraced(function* ({ metering }: Deps, principal: Principal, span: Tracer.Span) {
  describeOutcome(span, { outcome: unservedError._tag, credits: 0, cached: false, dispatched: false })
  const receipt = yield* metering.emptyReceipt(principal)
  return { body: Result.fail(unservedError), receipt, entry: undefined, timings: { reserveMs: 0, settleMs: 0 } }
})

/** Runs a search from reservation to settlement. Only the dispatch can be interrupted, so that every hold is settled. */
const runSearch = Effect.fnUntraced(function* (
  deps: Deps,
  principal: Principal,
  request: SearchRequest,
  span: Tracer.Span
): Effect.fn.Return<SearchSettlement, QuotaExceeded> {
  const { dispatch, ids, metering, providers } = deps
  describeSearch(span, request, yield* TraceQueryText)
  if (!(yield* providers.serves(request.target))) return yield* answerUnserved(deps, principal, span)
  const clock = yield* Clock.Clock
  const startedAt = clock.currentTimeMillisUnsafe()
  const hold = yield* metering.reserve(principal, 1)
  const reservedAt = clock.currentTimeMillisUnsafe()
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
  const receipt = yield* hold.settle([entry])
  const settleMs = clock.currentTimeMillisUnsafe() - answeredAt
  return {
    body: Result.map(exit.value.answer, ({ ranking }) => toBody(entry, ranking)),
    receipt,
    entry,
    timings: { reserveMs: reservedAt - startedAt, settleMs }
  }
}, Effect.uninterruptible)
