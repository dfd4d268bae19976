import { Clock, Context, Effect, Exit, Fiber, Layer, Result, type Tracer } from "effect"
import type { QuotaExceeded, UpstreamError, UpstreamTimeout } from "../domain/errors.ts"
import type { Principal } from "../domain/Principal.ts"
import type { QueryRecord } from "../domain/QueryRecord.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import type { SearchAnswer } from "../domain/SearchResult.ts"
import { countSearch, makeDispatch, toAnswer, toRecord } from "./Dispatch.ts"
import { Ids } from "./Ids.ts"
import { makeMetering, type Receipt, type Waits } from "./Metering.ts"
import { describeOutcome, describeSearch, spanned, TraceQueryText } from "./Tracing.ts"

/** A search that was dispatched: answered or failed upstream, it was charged and logged either way. */
export interface Served {
  readonly answer: Result.Result<SearchAnswer, UpstreamError | UpstreamTimeout>
  readonly receipt: Receipt
  /** As it was logged. */
  readonly record: QueryRecord
  readonly waits: Waits
}

/** One search from credits to answer. */
export class Search extends Context.Service<
  Search,
  {
    /**
     * Reserves a credit, searches, and settles before it answers. A caller that goes away does not stop a search that
     * was dispatched: it is finished, logged and charged. A defect gives the credit back.
     */
    readonly run: (principal: Principal, request: SearchRequest) => Effect.Effect<Served, QuotaExceeded>
  }
>()("quarry/services/Search") {
  static readonly layer = Layer.effect(
    Search,
    Effect.gen(function* () {
      const metering = yield* makeMetering
      const ids = yield* Ids
      const dispatch = yield* makeDispatch
      const scope = yield* Effect.scope

      const charged = Effect.fnUntraced(function* (principal: Principal, request: SearchRequest, span: Tracer.Span) {
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
        const record = toRecord(principal, request, yield* ids.make("qry_"), exit.value)
        yield* countSearch("search", record)
        describeOutcome(span, { ...record, dispatched: true })
        const foundAt = clock.currentTimeMillisUnsafe()
        const receipt = yield* metered.settle([record])
        const settleMs = clock.currentTimeMillisUnsafe() - foundAt
        return {
          answer: Result.map(exit.value.found, ({ ranking }) => toAnswer(record, ranking)),
          receipt,
          record,
          waits: { reserveMs: reservedAt - startedAt, settleMs }
        }
      }, Effect.uninterruptible)

      // In a fiber of its own, span and all: the caller's interruption ends the wait and not the search.
      const run = (principal: Principal, request: SearchRequest) =>
        Effect.flatMap(
          Effect.forkIn(
            spanned("Search.run", {}, (span) => charged(principal, request, span)),
            scope,
            { startImmediately: true }
          ),
          Fiber.join
        )

      return Search.of({ run })
    })
  )
}
