import { Clock, Context, Effect, Exit, Fiber, Layer, Result, type Tracer } from "effect"
import type { QuotaExceeded, UpstreamError, UpstreamTimeout } from "../domain/errors.ts"
import type { LogEntry } from "../domain/LogEntry.ts"
import type { Principal } from "../domain/Principal.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import type { SearchBody } from "../domain/SearchResult.ts"
import { countSearch, makeDispatch, toBody, toLogEntry } from "./Dispatch.ts"
import { Ids } from "./Ids.ts"
import { type LedgerTimings, makeMetering, type Receipt } from "./Metering.ts"
import { RequestId } from "./RequestId.ts"
import { describeOutcome, describeSearch, TraceQueryText, withSpan } from "./Tracing.ts"

/** A search after its settlement. It is charged and logged, with a body or an upstream error. */
export interface SearchSettlement {
  readonly body: Result.Result<SearchBody, UpstreamError | UpstreamTimeout>
  readonly receipt: Receipt
  /** The log entry. */
  readonly entry: LogEntry
  readonly timings: LedgerTimings
}

/** Runs one search, from reservation to settlement. */
export class Search extends Context.Service<
  Search,
  {
    /**
     * Reserves a credit, searches, and settles before it answers. The caller's interruption does not stop a dispatched
     * search: it is finished, logged and charged. After a defect the credit is returned.
     */
    readonly run: (principal: Principal, request: SearchRequest) => Effect.Effect<SearchSettlement, QuotaExceeded>
  }
>()("quarry/services/Search") {
  static readonly layer = Layer.effect(
    Search,
    Effect.gen(function* () {
      const deps: Deps = { metering: yield* makeMetering, ids: yield* Ids, dispatch: yield* makeDispatch }
      const scope = yield* Effect.scope

      // Runs in a fiber of its own, with its span: an interruption of the caller ends the wait and not the search.
      const run = (principal: Principal, request: SearchRequest) =>
        Effect.flatMap(
          Effect.forkIn(
            withSpan("Search.run", {}, (span) => runSearch(deps, principal, request, span)),
            scope,
            { startImmediately: true }
          ),
          Fiber.join
        )

      return Search.of({ run })
    })
  )
}

interface Deps {
  readonly metering: Effect.Success<typeof makeMetering>
  readonly ids: Ids["Service"]
  readonly dispatch: Effect.Success<typeof makeDispatch>
}

/** Runs a search from reservation to settlement. Only the dispatch can be interrupted, so that every hold is settled. */
const runSearch = Effect.fnUntraced(function* (
  { dispatch, ids, metering }: Deps,
  principal: Principal,
  request: SearchRequest,
  span: Tracer.Span
): Effect.fn.Return<SearchSettlement, QuotaExceeded> {
  describeSearch(span, request, yield* TraceQueryText)
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
