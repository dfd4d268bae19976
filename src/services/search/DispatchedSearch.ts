import { Clock, Duration, Effect, Metric, Result } from "effect"
import { defaultSource, type Principal } from "../../domain/accounts/Principal.ts"
import type { UpstreamError, UpstreamTimeout } from "../../domain/errors.ts"
import type { Answer } from "../../domain/search/Answer.ts"
import type { LogEntry, LoggedRefusal } from "../../domain/search/LogEntry.ts"
import type { Ranking } from "../../domain/search/Ranking.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import type { SearchBody } from "../../domain/search/SearchResult.ts"
import { Attempts } from "../providers/Attempts.ts"
import { Limits, providerTimedOut } from "../providers/Limits.ts"
import { Providers } from "../providers/Providers.ts"
import { searchDuration } from "../telemetry/Metrics.ts"
import { deadlineIn } from "./Deadlines.ts"
import { ResultCache } from "./ResultCache.ts"

/** Charged even if it failed. */
export interface DispatchedSearch {
  readonly answer: Result.Result<Answer, UpstreamError | UpstreamTimeout>
  readonly durationMs: number
  readonly refusals: ReadonlyArray<LoggedRefusal>
}

/** Sends searches to the cache and providers. `attempts` stays readable if a batch no longer waits for one. */
export const makeDispatch = Effect.gen(function* () {
  const providers = yield* Providers
  const cache = yield* ResultCache
  const { providerTimeout } = yield* Limits
  const budgetMs = Duration.toMillis(providerTimeout)
  const timeoutError = providerTimedOut(providerTimeout)

  return (request: SearchRequest, attempts = new Attempts()): Effect.Effect<DispatchedSearch> =>
    Clock.clockWith((clock) => {
      const startedAt = clock.currentTimeMillisUnsafe()
      const search = { request, attempts, deadline: deadlineIn(clock, budgetMs), timeoutError }
      const answer = cache.get(search, providers.search(search))
      return Effect.map(Effect.result(answer), (answer) => {
        const now = clock.currentTimeMillisUnsafe()
        return { answer, durationMs: now - startedAt, refusals: attempts.refusals(Result.isFailure(answer), now) }
      })
    })
})

export const countSearch = (
  operation: "search" | "row",
  { cached, durationMs, outcome, request }: LogEntry
): Effect.Effect<void> =>
  Metric.update(searchDuration.of(operation, request.target, outcome, String(cached)), durationMs / 1000)

export type LogPlace = Pick<LogEntry, "id" | "batchId" | "rowIndex" | "requestId">

export const callerOf = (principal: Principal): Pick<LogEntry, "accountId" | "keyId"> => ({
  accountId: principal._tag === "demo" ? undefined : principal.account.id,
  keyId: principal._tag === "key" ? principal.key.id : undefined
})

/** The log entry of a dispatched search. It costs one credit regardless of the outcome; the demo is free (R24). */
export const toLogEntry = (
  principal: Principal,
  request: SearchRequest,
  place: LogPlace,
  { answer, durationMs, refusals }: DispatchedSearch
): LogEntry => ({
  ...place,
  ...callerOf(principal),
  request: { ...request, source: request.source ?? defaultSource(principal) },
  outcome: Result.isSuccess(answer) ? "ok" : answer.failure._tag,
  credits: principal._tag === "demo" ? 0 : 1,
  cached: Result.isSuccess(answer) && answer.success.cached,
  provider: Result.isSuccess(answer) ? answer.success.provider : undefined,
  resultCount: Result.isSuccess(answer) ? answer.success.ranking.count : 0,
  durationMs,
  refusals
})

export const toBody = (id: string, request: SearchRequest, ranking: Ranking): SearchBody => ({
  id,
  target: request.target,
  query: request.query,
  geo: request.geo,
  locale: request.locale,
  page: request.page,
  ranking
})
