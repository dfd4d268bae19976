import { Clock, Context, Effect, Latch, Layer, type Tracer } from "effect"
import { UpstreamError, type UpstreamTimeout } from "../../domain/errors.ts"
import type { Refusal } from "../../domain/providers/Refusal.ts"
import type { Answer } from "../../domain/search/Answer.ts"
import type { LoggedReason } from "../../domain/search/LogEntry.ts"
import { rank } from "../../domain/search/Organic.ts"
import { Ranking } from "../../domain/search/Ranking.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import { type Target, targets } from "../../domain/search/Target.ts"
import { type Deadline, deadlineIn, timeLeft } from "../search/Deadlines.ts"
import { describeProvider, withSpan } from "../telemetry/Tracing.ts"
import { Attempts } from "./Attempts.ts"
import { Limits, providerTimedOut } from "./Limits.ts"
import { type Provider, unservedBy } from "./Provider.ts"
import type { ProviderMonitor } from "./ProviderMonitor.ts"
import { ProviderStates } from "./ProviderStates.ts"

type SearchError = UpstreamError | UpstreamTimeout

/** The providers of each target, in failover order. */
export type ProviderTable = { readonly [T in Target]: ReadonlyArray<Provider> } & {
  /** Targets with hedged requests: if a provider is slower than its 95th percentile, the next one is called too. */
  readonly hedged?: ReadonlySet<Target>
}

/** Providers that support the search and are not in a cool-down; otherwise those allowed as a last resort. */
const candidatesFor = (
  monitors: ReadonlyArray<ProviderMonitor>,
  request: SearchRequest,
  now: number
): ReadonlyArray<ProviderMonitor> => {
  const able = monitors.filter(({ provider }) => unservedBy(provider, request) === undefined)
  const admitted = able.filter((monitor) => monitor.admits(now))
  return admitted.length > 0 ? admitted : able.filter(({ isLastResort }) => isLastResort)
}

/** Records skipped providers and why. */
const noteLeftOut = (
  { attempts, request }: TargetSearch,
  monitors: ReadonlyArray<ProviderMonitor>,
  candidates: ReadonlyArray<ProviderMonitor>,
  now: number
): void => {
  if (candidates.length === monitors.length) return
  for (const monitor of monitors) {
    if (candidates.includes(monitor)) continue
    const { provider } = monitor
    attempts.leaveOut(provider.name, unservedBy(provider, request) === undefined ? "cool_down" : "unserved", now)
  }
}

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

/** For searches whose target has no provider. They are not dispatched and not charged. */
export const unservedError = new UpstreamError({
  message: "This target has no search provider on this server. Nothing was charged."
})

const upstreamError = new UpstreamError({
  message: "The search provider could not be reached or returned an unusable response."
})

interface TargetSearch {
  readonly request: SearchRequest
  readonly deadline: Deadline
  readonly attempts: Attempts
  /** The error if the deadline passes before a provider answers. */
  readonly timeoutError: UpstreamTimeout
}

/** `until` is at or before the search's deadline. */
const attempt = (
  { attempts, request, timeoutError }: TargetSearch,
  monitor: ProviderMonitor,
  until: Deadline,
  isLast: boolean
): Effect.Effect<Answer, SearchError> =>
  Clock.clockWith((clock) => {
    const { name } = monitor.provider
    const maxQueueMs = timeLeft(clock, until) * (isLast ? queueShare.last : queueShare.others)
    const entry = attempts.start(name, clock.currentTimeMillisUnsafe())
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
    return Effect.matchEffect(rows, {
      onSuccess: (rows) => {
        entry.end(clock.currentTimeMillisUnsafe())
        return Effect.succeed({ provider: name, ranking: new Ranking(rank(rows, request.num)), cached: false })
      },
      onFailure: ({ message, reason, isLate }) =>
        Effect.andThen(
          Effect.logWarning(`Provider ${name} refused ${request.target}: ${reason} (${message})`),
          Effect.fail(isLate === true ? timeoutError : upstreamError)
        )
    })
  })

/** Calls providers one after another. Each gets an equal share of the remaining time, so that one can hang. */
const failOver = (
  search: TargetSearch,
  [first, ...others]: ReadonlyArray<ProviderMonitor>
): Effect.Effect<Answer, SearchError> => {
  if (first === undefined) return Effect.fail(upstreamError)
  if (others.length === 0) return attempt(search, first, search.deadline, true)
  return Clock.clockWith((clock) => {
    const shareMs = timeLeft(clock, search.deadline) / (others.length + 1)
    return Effect.catch(attempt(search, first, deadlineIn(clock, shareMs), false), () => failOver(search, others))
  })
}

/**
 * Hedges requests: calls the first provider, and the others as soon as it fails or is slower than usual. The first
 * answer wins and interrupts the other attempts.
 */
const hedge = (
  search: TargetSearch,
  [first, ...others]: ReadonlyArray<ProviderMonitor>
): Effect.Effect<Answer, SearchError> => {
  if (first === undefined) return Effect.fail(upstreamError)
  if (others.length === 0) return attempt(search, first, search.deadline, true)
  return Clock.clockWith((clock) => {
    const shareMs = timeLeft(clock, search.deadline) / (others.length + 1)
    const failure = Latch.makeUnsafe(false)
    const slowness = Effect.sleep(Math.min(first.slowMs ?? shareMs, shareMs))
    const second = hedge(search, others).pipe(
      // The race interrupts the first attempt, which therefore cannot record its own slowness.
      Effect.tap(() => (Latch.isOpen(failure) ? Effect.void : first.recordOvertaking))
    )
    return Effect.race(
      Effect.tapError(attempt(search, first, search.deadline, false), () => failure.open),
      Effect.andThen(Effect.raceFirst(failure.await, slowness), second)
    )
  })
}

const monitorsOf = Effect.fnUntraced(function* (table: ProviderTable) {
  const states = yield* ProviderStates
  const lists = new Map<Target, ReadonlyArray<ProviderMonitor>>()
  for (const target of targets) {
    lists.set(target, yield* Effect.forEach(table[target], states.monitor))
  }
  return lists
})

const isServed = Effect.succeed(true)

/** True if at least one of the providers has something to search. */
const servedBy = (providers: ReadonlyArray<Provider>, target: Target): Effect.Effect<boolean> =>
  providers.some(({ isEmpty }) => isEmpty === undefined)
    ? isServed
    : Effect.map(
        Effect.forEach(providers, ({ isEmpty }) => isEmpty?.(target) ?? Effect.succeed(false)),
        (all) => all.includes(false)
      )

/** Searches at the providers of a target, in order until one answers, within the search's deadline. */
export class Providers extends Context.Service<
  Providers,
  {
    /** Returns a provider's ranked answer, at the latest at the deadline. */
    readonly search: (
      request: SearchRequest,
      deadline: Deadline,
      attempts?: Attempts
    ) => Effect.Effect<Answer, UpstreamError | UpstreamTimeout>
    /** False without a provider or documents. Such searches are not dispatched, because they would be charged. */
    readonly serves: (target: Target) => Effect.Effect<boolean>
  }
>()("quarry/services/Providers") {
  static readonly layer = (table: ProviderTable): Layer.Layer<Providers, never, ProviderStates> =>
    Layer.effect(
      Providers,
      Effect.gen(function* () {
        const { providerTimeout } = yield* Limits
        const monitors = yield* monitorsOf(table)
        const timeoutError = providerTimedOut(providerTimeout)
        const search = (request: SearchRequest, deadline: Deadline, attempts = new Attempts()) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => {
            const ofTarget = monitors.get(request.target) ?? []
            const candidates = candidatesFor(ofTarget, request, now)
            const targetSearch: TargetSearch = { request, deadline, attempts, timeoutError }
            noteLeftOut(targetSearch, ofTarget, candidates, now)
            const strategy = table.hedged?.has(request.target) === true ? hedge : failOver
            return strategy(targetSearch, candidates)
          })
        return Providers.of({ search, serves: (target) => servedBy(table[target], target) })
      })
    )
}
