import { Clock, Context, Effect, Latch, Layer, type Tracer } from "effect"
import type { Answer } from "../domain/Answer.ts"
import { unsupportedReason } from "../domain/Capabilities.ts"
import { UpstreamError, type UpstreamTimeout } from "../domain/errors.ts"
import { Ranking, rank } from "../domain/Organic.ts"
import type { Refusal } from "../domain/Refusal.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import { type Target, targets } from "../domain/Target.ts"
import { type Deadline, deadlineIn, timeLeft } from "./Deadlines.ts"
import { Limits, providerTimedOut } from "./Limits.ts"
import type { Provider } from "./Provider.ts"
import type { ProviderMonitor } from "./ProviderMonitor.ts"
import { ProviderStates } from "./ProviderStates.ts"
import { describeProvider, withSpan } from "./Tracing.ts"

type SearchFailed = UpstreamError | UpstreamTimeout

/** For each target its providers in failover order. */
export type ProviderTable = { readonly [T in Target]: ReadonlyArray<Provider> } & {
  /** Targets of which the next provider is asked too when one takes longer than its slowest answers mostly do. */
  readonly hedged?: ReadonlySet<Target>
}

/**
 * The providers of a target that a search may be sent to, in order. Those that cannot serve it and those that cool down
 * cost nothing. When none is left, those are asked where asking is not known to be useless or to do harm: an answer may
 * come, where leaving them out is sure to give none.
 */
const candidatesFor = (
  monitors: ReadonlyArray<ProviderMonitor>,
  request: SearchRequest,
  now: number
): ReadonlyArray<ProviderMonitor> => {
  const able = monitors.filter(
    ({ provider }) =>
      provider.capabilities === undefined || unsupportedReason(provider.capabilities, request) === undefined
  )
  const admitted = able.filter((monitor) => monitor.admits(now))
  return admitted.length > 0 ? admitted : able.filter(({ isLastResort }) => isLastResort)
}

const describeAttempt = (span: Tracer.Span, provider: Provider, { target }: SearchRequest): void => {
  if (!span.sampled) return
  span.attribute("quarry.target", target)
  describeProvider(span, provider.name)
}

/** A refusal is an event of the attempt: another provider may answer, and then the search has not failed. */
const describeRefusal = (span: Tracer.Span, { message, reason }: Refusal): Effect.Effect<void> => {
  if (!span.sampled) return Effect.void
  return Effect.map(Clock.currentTimeNanos, (now) => {
    span.attribute("quarry.refusal", reason)
    span.attribute("error.type", reason)
    span.event("quarry.refusal", now, { "quarry.refusal": reason, "quarry.refusal.message": message })
  })
}

/** Part of an attempt's time that it may wait for its turn at the provider: more when nobody comes after it. */
const queueShare = { last: 0.8, others: 0.3 }

const failed = new UpstreamError({
  message: "The search provider could not be reached or gave no usable answer."
})

/** One search on its way through the providers of its target. */
interface Walk {
  readonly request: SearchRequest
  readonly deadline: Deadline
  /** The failure of a search whose time was over before anybody answered. */
  readonly timedOut: UpstreamTimeout
}

/** Asks one provider until a moment that is at or before the search's deadline. */
const ask = (
  { request, timedOut }: Walk,
  monitor: ProviderMonitor,
  until: Deadline,
  isLast: boolean
): Effect.Effect<Answer, SearchFailed> =>
  Clock.clockWith((clock) => {
    const { name } = monitor.provider
    const maxQueueMs = timeLeft(clock, until) * (isLast ? queueShare.last : queueShare.others)
    const attempt = withSpan("Provider.search", { kind: "client" }, (span) => {
      describeAttempt(span, monitor.provider, request)
      return monitor.attempt(request, until, { maxQueueMs, onRefusal: (refusal) => describeRefusal(span, refusal) })
    })
    return Effect.matchEffect(attempt, {
      onSuccess: (rows) =>
        Effect.succeed({ provider: name, ranking: new Ranking(rank(rows, request.num)), cached: false }),
      onFailure: ({ message, reason, isLate }) =>
        Effect.andThen(
          Effect.logWarning(`Provider ${name} refused ${request.target}: ${reason} (${message})`),
          Effect.fail(isLate === true ? timedOut : failed)
        )
    })
  })

/** One after the other. A provider that hangs must leave time for those after it. */
const oneByOne = (
  walk: Walk,
  [first, ...others]: ReadonlyArray<ProviderMonitor>
): Effect.Effect<Answer, SearchFailed> => {
  if (first === undefined) return Effect.fail(failed)
  if (others.length === 0) return ask(walk, first, walk.deadline, true)
  return Clock.clockWith((clock) => {
    const share = timeLeft(clock, walk.deadline) / (others.length + 1)
    return Effect.catch(ask(walk, first, deadlineIn(clock, share), false), () => oneByOne(walk, others))
  })
}

/**
 * The first, and beside it the others as soon as it has failed or takes longer than its slowest answers do. The first
 * answer wins, and what still runs is interrupted.
 */
const overlapping = (
  walk: Walk,
  [first, ...others]: ReadonlyArray<ProviderMonitor>
): Effect.Effect<Answer, SearchFailed> => {
  if (first === undefined) return Effect.fail(failed)
  if (others.length === 0) return ask(walk, first, walk.deadline, true)
  return Clock.clockWith((clock) => {
    const shareMs = timeLeft(clock, walk.deadline) / (others.length + 1)
    const hasFailed = Latch.makeUnsafe(false)
    const isSlow = Effect.sleep(Math.min(first.slowMs ?? shareMs, shareMs))
    const beside = overlapping(walk, others).pipe(
      // The first attempt still runs, and the end of this race interrupts it: nothing else would count it as slow.
      Effect.tap(() => (Latch.isOpen(hasFailed) ? Effect.void : first.overtaken))
    )
    return Effect.race(
      Effect.tapError(ask(walk, first, walk.deadline, false), () => hasFailed.open),
      Effect.andThen(Effect.raceFirst(hasFailed.await, isSlow), beside)
    )
  })
}

/** The monitors of each target's providers, in failover order. */
const monitorsOf = Effect.fnUntraced(function* (table: ProviderTable) {
  const states = yield* ProviderStates
  const lists = new Map<Target, ReadonlyArray<ProviderMonitor>>()
  for (const target of targets) {
    lists.set(target, yield* Effect.forEach(table[target], states.monitor))
    if (table[target].length === 0) {
      yield* Effect.logWarning(`No provider serves ${target}: it answers upstream_error to every search.`)
    }
  }
  return lists
})

/**
 * The engines behind the targets. A target's providers are asked in order until one answers; all attempts share the
 * time until the search's deadline.
 */
export class Providers extends Context.Service<
  Providers,
  {
    /** A ranked answer of one provider, at the latest at the deadline. */
    readonly search: (
      request: SearchRequest,
      deadline: Deadline
    ) => Effect.Effect<Answer, UpstreamError | UpstreamTimeout>
  }
>()("quarry/services/Providers") {
  static readonly layer = (table: ProviderTable): Layer.Layer<Providers, never, ProviderStates> =>
    Layer.effect(
      Providers,
      Effect.gen(function* () {
        const { providerTimeout } = yield* Limits
        const monitors = yield* monitorsOf(table)
        const timedOut = providerTimedOut(providerTimeout)
        const search = (request: SearchRequest, deadline: Deadline) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => {
            const candidates = candidatesFor(monitors.get(request.target) ?? [], request, now)
            const attempts = table.hedged?.has(request.target) === true ? overlapping : oneByOne
            return attempts({ request, deadline, timedOut }, candidates)
          })
        return Providers.of({ search })
      })
    )
}
