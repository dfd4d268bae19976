import { Context, Effect, Exit, Fiber, Layer, Result } from "effect"
import type { Allowance } from "../domain/Account.ts"
import type { QuotaExceeded, UpstreamError, UpstreamTimeout } from "../domain/errors.ts"
import type { Principal } from "../domain/Principal.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import type { SearchResult } from "../domain/SearchResult.ts"
import { makeDispatch, toRecord, toResult } from "./Dispatch.ts"
import { Ids } from "./Ids.ts"
import { Ledger } from "./Ledger.ts"

/** What a response cost, and what the account could spend around it. */
export interface Receipt {
  readonly creditsUsed: number
  /** As the request arrived. */
  readonly before: Allowance
  /** Pack credits left after the response. */
  readonly balance: number
}

/** A search that was dispatched: answered or failed upstream, it was charged and logged either way. */
export interface Served {
  readonly answer: Result.Result<SearchResult, UpstreamError | UpstreamTimeout>
  readonly receipt: Receipt
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
      const ledger = yield* Ledger
      const ids = yield* Ids
      const dispatch = yield* makeDispatch
      const scope = yield* Effect.scope

      const charged = Effect.fnUntraced(function* (principal: Principal, request: SearchRequest) {
        const hold = yield* ledger.reserve(principal.account, 1)
        const exit = yield* Effect.exit(Effect.interruptible(dispatch(request)))
        if (Exit.isFailure(exit)) {
          yield* Effect.orDie(ledger.settle(hold, []))
          return yield* Effect.failCause(exit.cause)
        }
        const dispatched = exit.value
        const record = toRecord(principal, request, yield* ids.make("qry_"), dispatched)
        const { balance, charged } = yield* Effect.orDie(ledger.settle(hold, [record]))
        return {
          answer: Result.map(dispatched.found, ({ organic }) => toResult(record, organic)),
          receipt: { creditsUsed: charged, before: hold.before, balance }
        }
      }, Effect.uninterruptible)

      // In a fiber of its own: the caller's interruption ends the wait and not the search.
      const run = Effect.fn("Search.run")((principal: Principal, request: SearchRequest) =>
        Effect.flatMap(Effect.forkIn(charged(principal, request), scope), Fiber.join)
      )

      return Search.of({ run })
    })
  )
}
