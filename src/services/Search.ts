import { Clock, Context, Effect, Exit, Fiber, Layer, Result, type Tracer } from "effect"
import type { QuotaExceeded, UpstreamError, UpstreamTimeout } from "../domain/errors.ts"
import type { LogEntry } from "../domain/LogEntry.ts"
import type { Principal } from "../domain/Principal.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import type { SearchBody } from "../domain/SearchResult.ts"
import { countSearch, makeDispatch, toBody, toLogEntry } from "./Dispatch.ts"
import { Ids } from "./Ids.ts"
import { type LedgerTimings, makeMetering, type Receipt } from "./Metering.ts"
import { describeOutcome, describeSearch, TraceQueryText, withSpan } from "./Tracing.ts"

/** A search after its settlement: charged and logged, whether it has a body or failed upstream. */
export interface SearchSettlement {
  readonly body: Result.Result<SearchBody, UpstreamError | UpstreamTimeout>
  readonly receipt: Receipt
  /** As it was logged. */
  readonly entry: LogEntry
  readonly timings: LedgerTimings
}

/** One search from credits to answer. */
export class Search extends Context.Service<
  Search,
  {
    /**
     * Reserves a credit, searches, and settles before it answers. A caller that goes away does not stop a search that
     * was dispatched: it is finished, logged and charged. A defect gives the credit back.
     */
    readonly run: (principal: Principal, request: SearchRequest) => Effect.Effect<SearchSettlement, QuotaExceeded>
  }
>()("quarry/services/Search") {
  static readonly layer = Layer.effect(
    Search,
    Effect.gen(function* () {
      const parts = { metering: yield* makeMetering, ids: yield* Ids, dispatch: yield* makeDispatch }
      const scope = yield* Effect.scope

      // In a fiber of its own, span and all: the caller's interruption ends the wait and not the search.
      const run = (principal: Principal, request: SearchRequest) =>
        Effect.flatMap(
          Effect.forkIn(
            withSpan("Search.run", {}, (span) => settledSearch(parts, principal, request, span)),
            scope,
            { startImmediately: true }
          ),
          Fiber.join
        )

      return Search.of({ run })
    })
  )
}

interface Parts {
  readonly metering: Effect.Success<typeof makeMetering>
  readonly ids: Ids["Service"]
  readonly dispatch: Effect.Success<typeof makeDispatch>
}

/** Everything from reservation to settlement; only the search in between can be interrupted. */
const settledSearch = Effect.fnUntraced(function* (
  { dispatch, ids, metering }: Parts,
  principal: Principal,
  request: SearchRequest,
  span: Tracer.Span
): Effect.fn.Return<SearchSettlement, QuotaExceeded> {
  describeSearch(span, request, yield* TraceQueryText)
  const clock = yield* Clock.Clock
  const startedAt = clock.currentTimeMillisUnsafe()
  const metered = yield* metering.reserve(principal, 1)
  const reservedAt = clock.currentTimeMillisUnsafe()
  const exit = yield* Effect.exit(Effect.interruptible(dispatch(request)))
  if (Exit.isFailure(exit)) {
    yield* metered.settle([])
    return yield* Effect.failCause(exit.cause)
  }
  const entry = toLogEntry(principal, request, yield* ids.make("qry_"), exit.value)
  yield* countSearch("search", entry)
  describeOutcome(span, { ...entry, dispatched: true })
  const answeredAt = clock.currentTimeMillisUnsafe()
  const receipt = yield* metered.settle([entry])
  const settleMs = clock.currentTimeMillisUnsafe() - answeredAt
  return {
    body: Result.map(exit.value.answer, ({ ranking }) => toBody(entry, ranking)),
    receipt,
    entry,
    timings: { reserveMs: reservedAt - startedAt, settleMs }
  }
}, Effect.uninterruptible)
