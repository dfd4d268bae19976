import { Clock, Duration, Effect, Metric, Result } from "effect"
import { defaultSource, type Principal } from "../../domain/accounts/Principal.ts"
import { type UpstreamError, UpstreamTimeout } from "../../domain/errors.ts"
import type { LogEntry, LoggedRefusal, LogPlace } from "../../domain/log/LogEntry.ts"
import { type UnsentReason, unsentError, unsentFailure, unsentRow } from "../../domain/providers/Unsent.ts"
import type { Answer } from "../../domain/search/Answer.ts"
import type { Ranking } from "../../domain/search/Ranking.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import type { SearchBody } from "../../domain/search/SearchResult.ts"
import { callerOf } from "../charging/Charge.ts"
import type { Attempts } from "../providers/Attempts.ts"
import type { TargetSearch } from "../providers/Candidate.ts"
import { Limits } from "../providers/Limits.ts"
import { searchDuration, searchesUnsent } from "../telemetry/Metrics.ts"
import { type Deadline, deadlineIn } from "../waiting/Deadlines.ts"
import { Answers } from "./Answers.ts"

/** Charged even if it failed, unless no provider was asked (`unsent` of its error, R76). */
export interface DispatchedSearch {
  readonly answer: Result.Result<Answer, UpstreamError | UpstreamTimeout>
  readonly durationMs: number
  readonly refusals: ReadonlyArray<LoggedRefusal>
}

/** The error of a search that asked no provider, and is therefore free and not logged (R76). */
export const unsentSearch = ({ answer }: DispatchedSearch): UpstreamError | UpstreamTimeout | undefined =>
  unsentFailure(Result.isFailure(answer) ? answer.failure : undefined)

/** The end of a search whose batch ended first. Times are Unix milliseconds. */
export const cutOffSearch = (
  attempts: Attempts,
  budget: Duration.Duration,
  startedAt: number,
  now: number
): DispatchedSearch => {
  attempts.cutOff(now)
  const within = Duration.format(budget)
  const error =
    attempts.sentAt === undefined
      ? unsentRow(within)
      : new UpstreamTimeout({ message: `The search provider did not answer before the batch's ${within} ended.` })
  return { answer: Result.fail(error), durationMs: now - startedAt, refusals: attempts.refusals(true, now) }
}

export interface Dispatch {
  readonly principal: Principal
  readonly request: SearchRequest
  /** Stays readable if a batch no longer waits for its row. */
  readonly attempts: Attempts
  /** The end of a row's batch, until which the row may wait for its turn (R77). */
  readonly batchEnd?: Deadline
}

const payerOf = (principal: Principal): string => (principal._tag === "demo" ? "demo" : principal.account.id)

/** Sends searches to the cache and providers. */
export const makeDispatch = Effect.gen(function* () {
  const answers = yield* Answers
  const { bulkBudget, providerTimeout } = yield* Limits
  const budgetMs = Duration.toMillis(providerTimeout)
  const noTurn = unsentRow(Duration.format(bulkBudget))

  return ({ attempts, batchEnd, principal, request }: Dispatch): Effect.Effect<DispatchedSearch> =>
    Clock.clockWith((clock) => {
      const startedAt = clock.currentTimeMillisUnsafe()
      const sendBy = batchEnd ?? deadlineIn(clock, budgetMs)
      const endIfSentAt = batchEnd === undefined ? () => sendBy : (sentAt: Deadline) => sentAt + budgetMs
      const search: TargetSearch = { request, account: payerOf(principal), attempts, sendBy, endIfSentAt }
      // Its time may also end before a provider is asked. A row that got no turn reports the end of its batch (R19).
      const sentOrNot = (error: UpstreamError | UpstreamTimeout) => {
        if (attempts.sentAt !== undefined) return error
        const reasons = attempts.unsentReasons
        return batchEnd !== undefined && reasons.has("busy") ? noTurn : unsentError(reasons)
      }
      return Effect.flatMap(Effect.result(Effect.mapError(answers.find(search), sentOrNot)), (answer) => {
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
