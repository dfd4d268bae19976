import { Clock, Effect, type Tracer } from "effect"
import { UpstreamError, type UpstreamTimeout } from "../../domain/errors.ts"
import { makeAdmits } from "../../domain/options/SearchOptions.ts"
import type { Refusal } from "../../domain/providers/Refusal.ts"
import type { Answer } from "../../domain/search/Answer.ts"
import type { LoggedReason } from "../../domain/search/LogEntry.ts"
import { rank, type UpstreamRow } from "../../domain/search/Organic.ts"
import { Ranking } from "../../domain/search/Ranking.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import { type Deadline, timeLeft } from "../search/Deadlines.ts"
import { describeProvider, withSpan } from "../telemetry/Tracing.ts"
import type { Attempt, Attempts } from "./Attempts.ts"
import { type Provider, unservedBy } from "./Provider.ts"
import type { ProviderMonitor } from "./ProviderMonitor.ts"

export type SearchError = UpstreamError | UpstreamTimeout

export interface TargetSearch {
  readonly request: SearchRequest
  readonly deadline: Deadline
  readonly attempts: Attempts
  /** The error if the deadline passes before a provider answers. */
  readonly timeoutError: UpstreamTimeout
}

/** An entry of a target's list: one provider, or several whose results are merged. */
export interface Candidate {
  /** Returns the reason that it cannot serve a search; undefined if it can. */
  readonly unserved: (request: SearchRequest) => string | undefined
  readonly admits: (now: number, request: SearchRequest) => boolean
  /** True if it may be called during its cool-down if no other is left. */
  readonly isLastResort: (request: SearchRequest) => boolean
  /** Undefined while there are too few answers. */
  readonly slowMs: () => number | undefined
  readonly recordOvertaking: Effect.Effect<void>
  readonly leaveOut: (search: TargetSearch, now: number) => void
  /** `until` is at or before the search's deadline. */
  readonly attempt: (search: TargetSearch, until: Deadline, isLast: boolean) => Effect.Effect<Answer, SearchError>
}

export const upstreamError = new UpstreamError({
  message: "The search provider could not be reached or returned an unusable response."
})

const describeAttempt = (span: Tracer.Span, provider: Provider, { target }: SearchRequest): void => {
  if (!span.sampled) return
  span.attribute("quarry.target", target)
  describeProvider(span, provider.name)
}

/** Records a refusal as a span event, because another provider may still answer. */
const describeRefusal = (
  span: Tracer.Span,
  { message, reason }: { readonly reason: LoggedReason; readonly message: string }
): Effect.Effect<void> => {
  if (!span.sampled) return Effect.void
  return Effect.map(Clock.currentTimeNanos, (now) => {
    span.attribute("quarry.refusal", reason)
    span.attribute("error.type", reason)
    span.event("quarry.refusal", now, { "quarry.refusal": reason, "quarry.refusal.message": message })
  })
}

/** Recorded for an attempt cancelled because its batch ended. The provider is not at fault: it still had time. */
const cutOff = { reason: "cut_off", message: "the batch ended before the provider answered" } as const

/** The share of an attempt's time that it may wait for the call limit. The last provider may wait longer. */
const queueShare = { last: 0.8, others: 0.3 }

/** Calls a provider in a span of its own and logs its refusal. The caller ends `entry` after a success. */
export const call = (
  { request }: TargetSearch,
  monitor: ProviderMonitor,
  entry: Attempt,
  until: Deadline,
  isLast: boolean
): Effect.Effect<ReadonlyArray<UpstreamRow>, Refusal> =>
  Clock.clockWith((clock) => {
    const maxQueueMs = timeLeft(clock, until) * (isLast ? queueShare.last : queueShare.others)
    const rows = withSpan("Provider.search", { kind: "client" }, (span) => {
      describeAttempt(span, monitor.provider, request)
      const onRefusal = (refusal: Refusal) => {
        entry.end(clock.currentTimeMillisUnsafe(), refusal.reason)
        return describeRefusal(span, refusal)
      }
      const rows = monitor.attempt(request, until, { maxQueueMs, onRefusal })
      if (!span.sampled) return rows
      return Effect.onInterrupt(rows, () => (entry.reason === "cut_off" ? describeRefusal(span, cutOff) : Effect.void))
    })
    return Effect.tapError(rows, ({ message, reason }) =>
      Effect.logWarning(`Provider ${monitor.provider.name} refused ${request.target}: ${reason} (${message})`)
    )
  })

export const single = (monitor: ProviderMonitor): Candidate => {
  const { provider } = monitor
  return {
    unserved: (request) => unservedBy(provider, request),
    admits: (now) => monitor.admits(now),
    isLastResort: () => monitor.isLastResort,
    slowMs: () => monitor.slowMs,
    recordOvertaking: monitor.recordOvertaking,
    leaveOut: ({ attempts, request }, now) =>
      attempts.leaveOut(provider.name, unservedBy(provider, request) === undefined ? "cool_down" : "unserved", now),
    attempt: (search, until, isLast) =>
      Clock.clockWith((clock) => {
        const { attempts, request, timeoutError } = search
        const entry = attempts.start(provider.name, clock.currentTimeMillisUnsafe())
        return Effect.matchEffect(call(search, monitor, entry, until, isLast), {
          onSuccess: (rows) => {
            entry.end(clock.currentTimeMillisUnsafe())
            const ranking = new Ranking(rank(rows, request.num, makeAdmits(request.options)))
            return Effect.succeed({ provider: provider.name, ranking, cached: false })
          },
          onFailure: ({ isLate }) => Effect.fail(isLate === true ? timeoutError : upstreamError)
        })
      })
  }
}
