import { Clock, Duration, Effect, Metric, Result } from "effect"
import { defaultSource, type Principal } from "../../domain/accounts/Principal.ts"
import type { UpstreamError, UpstreamTimeout } from "../../domain/errors.ts"
import type { LogEntry, LoggedRefusal } from "../../domain/log/LogEntry.ts"
import { type UnsentReason, unsentError, unsentRow } from "../../domain/providers/Unsent.ts"
import type { Answer } from "../../domain/search/Answer.ts"
import type { Ranking } from "../../domain/search/Ranking.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import type { SearchBody } from "../../domain/search/SearchResult.ts"
import type { Attempts } from "../providers/Attempts.ts"
import type { TargetSearch } from "../providers/Candidate.ts"
import { Limits, providerTimedOut } from "../providers/Limits.ts"
import { Providers } from "../providers/Providers.ts"
import { searchDuration, searchesUnsent } from "../telemetry/Metrics.ts"
import { type Deadline, deadlineIn } from "./Deadlines.ts"
import { ResultCache } from "./ResultCache.ts"

/** Charged even if it failed, unless no provider was asked (`unsent` of its error, R76). */
export interface DispatchedSearch {
  readonly answer: Result.Result<Answer, UpstreamError | UpstreamTimeout>
  readonly durationMs: number
  readonly refusals: ReadonlyArray<LoggedRefusal>
}

/** The batch of a row. Its time limit is the row's until the row is sent (R77). */
export interface BatchEnd {
  readonly deadline: Deadline
  /** The batch's time budget as text. */
  readonly within: string
}

export interface Dispatch {
  readonly principal: Principal
  readonly request: SearchRequest
  /** Stays readable if a batch no longer waits for its row. */
  readonly attempts: Attempts
  readonly batch?: BatchEnd
}

const payerOf = (principal: Principal): string => (principal._tag === "demo" ? "demo" : principal.account.id)

/** A row that got no turn reports the end of its batch (R19). */
const unsentErrorOf = (batch: BatchEnd | undefined) => (reasons: ReadonlySet<UnsentReason>) =>
  batch !== undefined && reasons.has("busy") ? unsentRow(batch.within) : unsentError(reasons)

/** Sends searches to the cache and providers. */
export const makeDispatch = Effect.gen(function* () {
  const providers = yield* Providers
  const cache = yield* ResultCache
  const { providerTimeout } = yield* Limits
  const budgetMs = Duration.toMillis(providerTimeout)
  const timeoutError = providerTimedOut(providerTimeout)

  return ({ attempts, batch, principal, request }: Dispatch): Effect.Effect<DispatchedSearch> =>
    Clock.clockWith((clock) => {
      const startedAt = clock.currentTimeMillisUnsafe()
      const search: TargetSearch = {
        request,
        account: payerOf(principal),
        deadline: batch?.deadline ?? deadlineIn(clock, budgetMs),
        budgetMs,
        attempts,
        timeoutError,
        unsentError: unsentErrorOf(batch)
      }
      // The deadline may also pass before a provider is asked.
      const sentOrNot = (error: UpstreamError | UpstreamTimeout) =>
        error === timeoutError && attempts.sentAt === undefined ? search.unsentError(attempts.unsentReasons) : error
      const answer = Effect.mapError(cache.get(search, providers.search(search)), sentOrNot)
      return Effect.flatMap(Effect.result(answer), (answer) => {
        const now = clock.currentTimeMillisUnsafe()
        const end = { answer, durationMs: now - startedAt, refusals: attempts.refusals(Result.isFailure(answer), now) }
        return Result.isFailure(answer) && answer.failure.unsent === true
          ? Effect.as(countUnsent(request, attempts.unsentReasons), end)
          : Effect.succeed(end)
      })
    })
})

const countUnsent = ({ target }: SearchRequest, reasons: ReadonlySet<UnsentReason>): Effect.Effect<void> =>
  Effect.forEach(reasons, (reason) => Metric.update(searchesUnsent.of(target, reason), 1), { discard: true })

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
