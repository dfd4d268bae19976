import { Clock, Duration, Effect, Metric, Result } from "effect"
import type { Answer } from "../domain/Answer.ts"
import type { UpstreamError, UpstreamTimeout } from "../domain/errors.ts"
import type { LogEntry } from "../domain/LogEntry.ts"
import { defaultSource, type Principal } from "../domain/Principal.ts"
import type { Ranking } from "../domain/Ranking.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import type { SearchBody } from "../domain/SearchResult.ts"
import { deadlineIn } from "./Deadlines.ts"
import { Limits, providerTimedOut } from "./Limits.ts"
import { searchDuration } from "./Metrics.ts"
import { Providers } from "./Providers.ts"
import { ResultCache } from "./ResultCache.ts"

/** The result of a search that was sent to the cache and the providers. It is charged, with an answer or an error. */
export interface Dispatch {
  readonly answer: Result.Result<Answer, UpstreamError | UpstreamTimeout>
  readonly durationMs: number
}

/** Makes the function that sends a search to the cache and the providers, until the search's deadline. */
export const makeDispatch = Effect.gen(function* () {
  const providers = yield* Providers
  const cache = yield* ResultCache
  const { providerTimeout } = yield* Limits
  const budgetMs = Duration.toMillis(providerTimeout)
  const error = providerTimedOut(providerTimeout)

  return (request: SearchRequest): Effect.Effect<Dispatch> =>
    Clock.clockWith((clock) => {
      const startedAt = clock.currentTimeMillisUnsafe()
      const deadline = deadlineIn(clock, budgetMs)
      const answer = cache.get(request, providers.search(request, deadline), { at: deadline, error })
      return Effect.map(Effect.result(answer), (answer) => ({
        answer,
        durationMs: clock.currentTimeMillisUnsafe() - startedAt
      }))
    })
})

/** Measures a dispatched search, by its outcome. */
export const countSearch = (
  operation: "search" | "row",
  { cached, durationMs, outcome, request }: LogEntry
): Effect.Effect<void> =>
  Metric.update(searchDuration.of(operation, request.target, outcome, String(cached)), durationMs / 1000)

/** The log entry of a dispatched search. It costs one credit with every outcome, and none in the demo (R24). */
export const toLogEntry = (
  principal: Principal,
  request: SearchRequest,
  id: string,
  { answer, durationMs }: Dispatch,
  batchId?: string
): LogEntry => ({
  id,
  accountId: principal._tag === "demo" ? undefined : principal.account.id,
  keyId: principal._tag === "key" ? principal.key.id : undefined,
  batchId,
  request: { ...request, source: request.source ?? defaultSource(principal) },
  outcome: Result.isSuccess(answer) ? "ok" : answer.failure._tag,
  credits: principal._tag === "demo" ? 0 : 1,
  cached: Result.isSuccess(answer) && answer.success.cached,
  provider: Result.isSuccess(answer) ? answer.success.provider : undefined,
  resultCount: Result.isSuccess(answer) ? answer.success.ranking.count : 0,
  durationMs
})

export const toBody = ({ id, request }: LogEntry, ranking: Ranking): SearchBody => ({
  id,
  target: request.target,
  query: request.query,
  geo: request.geo,
  locale: request.locale,
  page: request.page,
  ranking
})
