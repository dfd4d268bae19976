import { Clock, Context, Duration, Effect, Exit, Fiber, Layer, Result } from "effect"
import type { Allowance } from "../domain/Account.ts"
import { type QuotaExceeded, type UpstreamError, UpstreamTimeout } from "../domain/errors.ts"
import { type OrganicResult, rank } from "../domain/Organic.ts"
import { defaultSource, type Principal } from "../domain/Principal.ts"
import type { QueryRecord } from "../domain/QueryRecord.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import type { SearchResult } from "../domain/SearchResult.ts"
import { Ids } from "./Ids.ts"
import { Ledger } from "./Ledger.ts"
import { Limits } from "./Limits.ts"
import { Providers } from "./Providers.ts"
import { ResultCache } from "./ResultCache.ts"

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

/** What came of asking the providers for one search. */
export interface Dispatched {
  readonly found: Result.Result<
    { readonly organic: ReadonlyArray<OrganicResult>; readonly provider: string; readonly cached: boolean },
    UpstreamError | UpstreamTimeout
  >
  readonly durationMs: number
}

/** Asks the cache or the providers, within the search's own time budget. */
export const makeDispatch = Effect.gen(function* () {
  const providers = yield* Providers
  const cache = yield* ResultCache
  const { providerTimeout } = yield* Limits

  return Effect.fnUntraced(function* (request: SearchRequest): Effect.fn.Return<Dispatched> {
    const startedAt = yield* Clock.currentTimeMillis
    const found = yield* cache.get(request, providers.search(request)).pipe(
      // A search that joined another's call must not wait longer than its own budget (R15).
      Effect.timeoutOrElse({ duration: providerTimeout, orElse: () => Effect.fail(timedOut(providerTimeout)) }),
      Effect.result
    )
    return {
      found: Result.map(found, ({ cached, provider, rows }) => ({
        organic: rank(rows, request.num),
        provider,
        cached
      })),
      durationMs: (yield* Clock.currentTimeMillis) - startedAt
    }
  })
})

const timedOut = (budget: Duration.Duration): UpstreamTimeout =>
  new UpstreamTimeout({ message: `The search provider did not answer within ${Duration.format(budget)}.` })

/** The log entry of a dispatched search. It costs one credit whatever came of it. */
export const toRecord = (
  principal: Principal,
  request: SearchRequest,
  id: string,
  { durationMs, found }: Dispatched,
  batchId?: string
): QueryRecord => ({
  id,
  accountId: principal.account.id,
  keyId: principal.key.id,
  batchId,
  request: { ...request, source: request.source ?? defaultSource(principal) },
  outcome: Result.isSuccess(found) ? "ok" : found.failure._tag,
  credits: 1,
  cached: Result.isSuccess(found) && found.success.cached,
  provider: Result.isSuccess(found) ? found.success.provider : undefined,
  resultCount: Result.isSuccess(found) ? found.success.organic.length : 0,
  durationMs
})

export const toResult = ({ id, request }: QueryRecord, organic: ReadonlyArray<OrganicResult>): SearchResult => ({
  id,
  target: request.target,
  query: request.query,
  geo: request.geo,
  locale: request.locale,
  page: request.page,
  results: { organic }
})
