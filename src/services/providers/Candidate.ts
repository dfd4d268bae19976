import { Clock, Effect, type Tracer } from "effect"
import { UpstreamError, type UpstreamTimeout } from "../../domain/errors.ts"
import type { LoggedReason } from "../../domain/log/LogEntry.ts"
import { makeAdmits } from "../../domain/options/SearchOptions.ts"
import type { Refusal } from "../../domain/providers/Refusal.ts"
import type { Answer } from "../../domain/search/Answer.ts"
import { rank, type UpstreamRow } from "../../domain/search/Organic.ts"
import { Ranking } from "../../domain/search/Ranking.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import { describeProvider, withSpan } from "../telemetry/Tracing.ts"
import { type Deadline, deadlineIn, msUntil } from "../waiting/Deadlines.ts"
import type { Attempt, Attempts } from "./Attempts.ts"
import { loadingMark, type Provider, unservedBy } from "./Provider.ts"
import type { AttemptTimes, ProviderMonitor } from "./ProviderMonitor.ts"

export type SearchError = UpstreamError | UpstreamTimeout

export interface TargetSearch {
  readonly request: SearchRequest
  /** Accounts share each provider's call limits fairly. */
  readonly account: string
  readonly attempts: Attempts
  /** The end of the wait for a turn. For a row, the end of its batch (R77). */
  readonly sendBy: Deadline
  /** The end of the search if it was first sent then. A row's own time may end after its batch, which interrupts it. */
  readonly endIfSentAt: (sentAt: Deadline) => Deadline
}

/** The part of its search's time that an attempt may use: a share of what is left, and not the last `reserveMs`. */
export interface AttemptShare {
  readonly share: number
  readonly reserveMs?: number
  /** The last provider may use the whole rest, and wait longer for its turn. */
  readonly isLast: boolean
}

/** The end of a search that is sent now or was sent before. */
const endOf = ({ attempts, endIfSentAt }: TargetSearch, clock: Clock.Clock): Deadline =>
  endIfSentAt(attempts.sentAt ?? deadlineIn(clock, 0))

/** Milliseconds that all providers have together if the search is sent now. */
export const budgetLeft = (search: TargetSearch, clock: Clock.Clock): number =>
  msUntil(clock, Math.min(endOf(search, clock), search.sendBy))

/** An entry of a target's list: one provider, or several whose results are merged. */
export interface Candidate {
  /** Returns the reason that it cannot serve a search; undefined if it can. */
  readonly unserved: (request: SearchRequest) => string | undefined
  readonly admits: (now: number, request: SearchRequest) => boolean
  /** Milliseconds that the search would wait for the call limits. */
  readonly waitMs: (search: TargetSearch, now: number) => number
  /** True if it may be called during its cool-down if no other is left. */
  readonly isLastResort: (request: SearchRequest) => boolean
  /** Undefined while there are too few answers. */
  readonly slowMs: () => number | undefined
  readonly recordOvertaking: (search: TargetSearch) => Effect.Effect<void>
  readonly leaveOut: (search: TargetSearch, now: number) => void
  readonly attempt: (search: TargetSearch, share: AttemptShare) => Effect.Effect<Answer, SearchError>
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

/** The share of its time that an attempt may wait for a turn while another provider is left. */
const queueShare = 0.3

/** The last provider may wait until this much of the search's time is left, which is enough for most responses. */
const minCallMs = 1_000

const shareOf = (end: Deadline, share: number, clock: Clock.Clock): Deadline =>
  share === 1 ? end : deadlineIn(clock, msUntil(clock, end) * share)

const timesOf = (
  search: TargetSearch,
  entry: Attempt,
  { isLast, reserveMs, share }: AttemptShare,
  clock: Clock.Clock
): AttemptTimes => {
  const { sendBy } = search
  const waitUntil = shareOf(sendBy, share, clock)
  const queueUntil = isLast ? waitUntil - minCallMs : deadlineIn(clock, msUntil(clock, waitUntil) * queueShare)
  let until: Deadline | undefined
  return {
    account: search.account,
    waitUntil,
    // Once the search is sent, its further calls may wait for most of its time.
    maxWaitMs: () => msUntil(clock, until === undefined ? queueUntil : Math.min(until, sendBy) - minCallMs),
    send: () => {
      search.attempts.send(deadlineIn(clock, 0), entry)
      const end = endOf(search, clock)
      // An attempt that shares the time, or whose rows are merged, must end before the batch does.
      until =
        share === 1 && reserveMs === undefined
          ? end
          : Math.min(shareOf(Math.min(end, sendBy), share, clock), sendBy - (reserveMs ?? 0))
      return until
    }
  }
}

/** Calls a provider in a span of its own and logs its refusal. The caller ends `entry` after a success. */
export const call = (
  search: TargetSearch,
  monitor: ProviderMonitor,
  entry: Attempt,
  share: AttemptShare
): Effect.Effect<ReadonlyArray<UpstreamRow>, Refusal> =>
  Clock.clockWith((clock) => {
    const { request } = search
    const rows = withSpan("Provider.search", { kind: "client" }, (span) => {
      describeAttempt(span, monitor.provider, request)
      const onRefusal = (refusal: Refusal) => {
        entry.end(clock.currentTimeMillisUnsafe(), refusal.reason)
        return describeRefusal(span, refusal)
      }
      const rows = monitor.attempt(request, timesOf(search, entry, share, clock), onRefusal)
      if (!span.sampled) return rows
      return Effect.onInterrupt(rows, () => (entry.reason === "cut_off" ? describeRefusal(span, cutOff) : Effect.void))
    })
    return Effect.tapError(rows, ({ message, reason }) =>
      Effect.logWarning(`Provider ${monitor.provider.name} refused ${request.target}: ${reason} (${message})`)
    )
  })

/** `timeoutError` is the error of a provider that is late. */
export const single = (monitor: ProviderMonitor, timeoutError: UpstreamTimeout): Candidate => {
  const { provider } = monitor
  return {
    unserved: (request) => unservedBy(provider, request),
    admits: (now) => monitor.admits(now),
    isLastResort: () => monitor.isLastResort,
    slowMs: () => monitor.slowMs,
    waitMs: ({ account }, now) => monitor.waitMs(account, now),
    recordOvertaking: ({ attempts }) => (attempts.hasAsked(provider.name) ? monitor.recordOvertaking : Effect.void),
    leaveOut: ({ attempts, request }, now) => attempts.leaveOut(provider.name, monitor.reasonToSkip(request), now),
    attempt: (search, share) =>
      Clock.clockWith((clock) => {
        const { attempts, request } = search
        const startedAt = clock.currentTimeMillisUnsafe()
        const entry = attempts.start(provider.name, startedAt)
        return Effect.matchEffect(call(search, monitor, entry, share), {
          onSuccess: (rows) => {
            entry.end(clock.currentTimeMillisUnsafe())
            const ranking = new Ranking(rank(rows, request.num, makeAdmits(request.options)))
            const mark = loadingMark([provider], startedAt)
            return Effect.succeed({ provider: provider.name, ranking, cached: false, ...mark })
          },
          onFailure: ({ isLate }) => Effect.fail(isLate === true ? timeoutError : upstreamError)
        })
      })
  }
}
