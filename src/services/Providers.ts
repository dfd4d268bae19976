import { Clock, Context, Duration, Effect, Latch, Layer, Result, type Tracer } from "effect"
import { unserved } from "../domain/Capabilities.ts"
import { UpstreamError, type UpstreamTimeout } from "../domain/errors.ts"
import type { UpstreamRow } from "../domain/Organic.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import { type Target, targets } from "../domain/Target.ts"
import { Limits, providerTimedOut } from "./Limits.ts"
import type { Provider, Refusal } from "./Provider.ts"
import { ProviderStates, type Tracked, unanswered } from "./ProviderStates.ts"
import { describeProvider, spanned } from "./Tracing.ts"

export interface Found {
  /** Name of the provider that answered. */
  readonly provider: string
  readonly rows: ReadonlyArray<UpstreamRow>
}

type SearchFailed = UpstreamError | UpstreamTimeout

/** For each target its providers in failover order. */
export type ProviderTable = { readonly [T in Target]: ReadonlyArray<Provider> } & {
  /** Targets of which the next provider is asked too when one takes longer than its slowest answers mostly do. */
  readonly hedged?: ReadonlySet<Target>
}

/**
 * The providers of a target that a search may be sent to, in order. Those that cannot serve it and those left out for
 * what they last refused cost nothing. When none is left, those are asked of whom it is not known that asking is
 * useless or does harm: an answer may come, where leaving them out is sure to give none.
 */
const candidatesFor = (
  tracked: ReadonlyArray<Tracked>,
  request: SearchRequest,
  now: number
): ReadonlyArray<Tracked> => {
  const able = tracked.filter(
    ({ provider }) => provider.capabilities === undefined || unserved(provider.capabilities, request) === undefined
  )
  const admitted = able.filter(({ breaker }) => breaker.admits(now))
  return admitted.length > 0 ? admitted : able.filter(({ breaker }) => breaker.isLastResort)
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

/**
 * The engines behind the targets. A target's providers are asked in order until one answers; all attempts share one
 * time budget, 15 seconds by default.
 */
export class Providers extends Context.Service<
  Providers,
  {
    readonly search: (request: SearchRequest) => Effect.Effect<Found, UpstreamError | UpstreamTimeout>
  }
>()("quarry/services/Providers") {
  static readonly layer = (table: ProviderTable): Layer.Layer<Providers, never, ProviderStates> =>
    Layer.effect(
      Providers,
      Effect.gen(function* () {
        const { providerTimeout } = yield* Limits
        const states = yield* ProviderStates
        const budgetMs = Duration.toMillis(providerTimeout)
        const lists = new Map<Target, ReadonlyArray<Tracked>>()
        for (const target of targets) {
          lists.set(target, yield* Effect.forEach(table[target], states.track))
          if (table[target].length === 0) {
            yield* Effect.logWarning(`No provider serves ${target}: it answers upstream_error to every search.`)
          }
        }

        const timedOut = providerTimedOut(providerTimeout)
        const failed = new UpstreamError({
          message: "The search provider could not be reached or gave no usable answer."
        })

        /** One provider within its share of the time. What it refused as goes to the log. */
        const ask = (
          tracked: Tracked,
          request: SearchRequest,
          shareMs: number,
          isLast: boolean
        ): Effect.Effect<Found, SearchFailed> => {
          const { name } = tracked.provider
          const maxQueueMs = shareMs * (isLast ? queueShare.last : queueShare.others)
          const attempt = spanned("Provider.search", { kind: "client" }, (span) => {
            describeAttempt(span, tracked.provider, request)
            return tracked.ask(request, shareMs, maxQueueMs).pipe(
              Effect.tap((rows) => (rows === undefined ? describeRefusal(span, unanswered(shareMs)) : Effect.void)),
              Effect.tapError((refusal) => describeRefusal(span, refusal)),
              Effect.result
            )
          })
          return Effect.flatMap(attempt, (outcome): Effect.Effect<Found, SearchFailed> => {
            if (Result.isFailure(outcome)) {
              const { message, reason } = outcome.failure
              const warning = `Provider ${name} refused ${request.target}: ${reason} (${message})`
              return Effect.andThen(Effect.logWarning(warning), Effect.fail(failed))
            }
            if (outcome.success !== undefined) return Effect.succeed({ provider: name, rows: outcome.success })
            const warning = `Provider ${name} gave ${request.target} no answer in ${shareMs} ms`
            return Effect.andThen(Effect.logWarning(warning), Effect.fail(timedOut))
          })
        }

        /** One after the other. A provider that hangs must leave time for those after it. */
        const oneByOne = (
          [first, ...others]: ReadonlyArray<Tracked>,
          request: SearchRequest,
          deadline: number
        ): Effect.Effect<Found, SearchFailed> => {
          if (first === undefined) return Effect.fail(failed)
          return Effect.flatMap(Clock.currentTimeMillis, (now) => {
            const shareMs = Math.ceil((deadline - now) / (others.length + 1))
            const own = ask(first, request, shareMs, others.length === 0)
            return others.length === 0 ? own : Effect.catch(own, () => oneByOne(others, request, deadline))
          })
        }

        /**
         * The first, and beside it the others as soon as it has failed or takes longer than its slowest answers do. The
         * first good answer wins, and what still runs is interrupted.
         */
        const overlapping = (
          [first, ...others]: ReadonlyArray<Tracked>,
          request: SearchRequest,
          deadline: number
        ): Effect.Effect<Found, SearchFailed> =>
          Effect.gen(function* () {
            if (first === undefined) return yield* failed
            const leftMs = deadline - (yield* Clock.currentTimeMillis)
            const own = ask(first, request, leftMs, others.length === 0)
            if (others.length === 0) return yield* own
            const shareMs = Math.ceil(leftMs / (others.length + 1))
            const over = Latch.makeUnsafe(false)
            const slow = Effect.sleep(Math.min(first.slowMs ?? shareMs, shareMs))
            const beside = overlapping(others, request, deadline).pipe(
              // While its own attempt runs nobody has told of it, and the end of this race interrupts it.
              Effect.tap(() => (Latch.isOpen(over) ? Effect.void : first.overtaken))
            )
            return yield* Effect.race(
              Effect.tapError(own, () => over.open),
              Effect.andThen(Effect.raceFirst(over.await, slow), beside)
            )
          })

        const search = (request: SearchRequest) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => {
            const candidates = candidatesFor(lists.get(request.target) ?? [], request, now)
            const attempts = table.hedged?.has(request.target) === true ? overlapping : oneByOne
            return attempts(candidates, request, now + budgetMs)
          })

        return Providers.of({ search })
      })
    )
}
