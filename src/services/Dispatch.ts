import { Clock, Duration, Effect, Metric, Result } from "effect"
import type { UpstreamError, UpstreamTimeout } from "../domain/errors.ts"
import { Ranking, rank } from "../domain/Organic.ts"
import { defaultSource, type Principal } from "../domain/Principal.ts"
import type { QueryRecord } from "../domain/QueryRecord.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import type { SearchAnswer } from "../domain/SearchResult.ts"
import { Limits, providerTimedOut } from "./Limits.ts"
import { searchDuration } from "./Metrics.ts"
import { Providers } from "./Providers.ts"
import { type Cached, ResultCache } from "./ResultCache.ts"

/** What came of asking the providers for one search. */
export interface Dispatched {
  readonly found: Result.Result<Cached, UpstreamError | UpstreamTimeout>
  readonly durationMs: number
}

/** Asks the cache or the providers, within the search's own time budget. */
export const makeDispatch = Effect.gen(function* () {
  const providers = yield* Providers
  const cache = yield* ResultCache
  const { providerTimeout } = yield* Limits

  // A search that joined another's call must not wait longer than its own budget (R15).
  const patience = { ms: Duration.toMillis(providerTimeout), error: providerTimedOut(providerTimeout) }

  return (request: SearchRequest): Effect.Effect<Dispatched> =>
    Clock.clockWith((clock) => {
      const startedAt = clock.currentTimeMillisUnsafe()
      const ranked = Effect.map(providers.search(request), ({ provider, rows }) => ({
        provider,
        ranking: new Ranking(rank(rows, request.num))
      }))
      return Effect.map(Effect.result(cache.get(request, ranked, patience)), (found) => ({
        found,
        durationMs: clock.currentTimeMillisUnsafe() - startedAt
      }))
    })
})

/** Counts a dispatched search by how it ended. */
export const countSearch = (
  operation: "search" | "row",
  { cached, durationMs, outcome, request }: QueryRecord
): Effect.Effect<void> =>
  Metric.update(searchDuration.of(operation, request.target, outcome, String(cached)), durationMs / 1000)

/** The log entry of a dispatched search. It costs one credit whatever came of it, and none in the demo (R24). */
export const toRecord = (
  principal: Principal,
  request: SearchRequest,
  id: string,
  { durationMs, found }: Dispatched,
  batchId?: string
): QueryRecord => ({
  id,
  accountId: principal._tag === "demo" ? undefined : principal.account.id,
  keyId: principal._tag === "key" ? principal.key.id : undefined,
  batchId,
  request: { ...request, source: request.source ?? defaultSource(principal) },
  outcome: Result.isSuccess(found) ? "ok" : found.failure._tag,
  credits: principal._tag === "demo" ? 0 : 1,
  cached: Result.isSuccess(found) && found.success.cached,
  provider: Result.isSuccess(found) ? found.success.provider : undefined,
  resultCount: Result.isSuccess(found) ? found.success.ranking.count : 0,
  durationMs
})

export const toAnswer = ({ id, request }: QueryRecord, ranking: Ranking): SearchAnswer => ({
  id,
  target: request.target,
  query: request.query,
  geo: request.geo,
  locale: request.locale,
  page: request.page,
  ranking
})
