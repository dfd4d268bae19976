import { Clock, Context, Duration, Effect, Layer, Result, Scope } from "effect"
import { phases } from "../../domain/providers/CoolDown.ts"
import { isPausedBy, type PausedProvider } from "../../domain/providers/pauses.ts"
import { namesOf } from "../../domain/providers/providerNames.ts"
import { Refusal } from "../../domain/providers/Refusal.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import type { Target } from "../../domain/search/Target.ts"
import { observe } from "../telemetry/Instrument.ts"
import { breakerState } from "../telemetry/Metrics.ts"
import { Deadlines } from "../waiting/Deadlines.ts"
import { type Provider, unservedBy } from "./Provider.ts"
import { ProviderMonitor, type ProviderState, timesUntil } from "./ProviderMonitor.ts"
import { type Reranker, RerankMonitor, type RerankState } from "./Reranker.ts"

export interface ProviderCheck {
  readonly state: ProviderState
  /** Undefined after a refusal. */
  readonly rows: number | undefined
  readonly refusal: Refusal | undefined
  readonly durationMs: number
}

const maxConcurrentChecks = 8

/** A store that is away must not delay the report. */
const loadingWait = Duration.seconds(1)

/** The states of all providers in this process. */
export class ProviderStates extends Context.Service<
  ProviderStates,
  {
    /** The monitor of a provider, created on first use. */
    readonly monitor: (provider: Provider) => Effect.Effect<ProviderMonitor>
    readonly all: Effect.Effect<ReadonlyArray<ProviderState>>
    /** Searches skip providers with one of these pauses, and no others. */
    readonly setPauses: (pauses: ReadonlyArray<PausedProvider>) => Effect.Effect<void>
    /** Also whether documents are being loaded into each provider's index; undefined if its store does not say. */
    readonly reports: Effect.Effect<
      ReadonlyArray<{ readonly state: ProviderState; readonly isLoading: boolean | undefined }>
    >
    /** The monitor of a target's reranker, created by each call. */
    readonly reranker: (target: Target, reranker: Reranker) => Effect.Effect<RerankMonitor>
    readonly rerankers: Effect.Effect<ReadonlyArray<RerankState>>
    /** Calls each provider once, even in a cool-down. Providers that do not support the search return `unserved`. */
    readonly check: (request: SearchRequest, withinMs: number) => Effect.Effect<ReadonlyArray<ProviderCheck>>
  }
>()("quarry/services/providers/ProviderStates") {
  static readonly layer = Layer.effect(
    ProviderStates,
    Effect.gen(function* () {
      const monitors = new Map<Provider, ProviderMonitor>()
      const rerankers: Array<RerankMonitor> = []
      const deadlines = yield* Deadlines.make
      const scope = yield* Effect.scope
      let pauses: ReadonlyArray<PausedProvider> = []
      const add = (provider: Provider) => {
        const monitor = new ProviderMonitor(provider, deadlines)
        monitor.isPaused = isPausedBy(pauses, provider)
        monitors.set(provider, monitor)
        return Effect.as(Scope.provide(observePhases(monitor), scope), monitor)
      }
      return ProviderStates.of({
        monitor: (provider) =>
          Effect.suspend(() => {
            const monitor = monitors.get(provider)
            return monitor === undefined ? add(provider) : Effect.succeed(monitor)
          }),
        all: Effect.map(Clock.currentTimeMillis, (now) =>
          Array.from(monitors.values(), (monitor) => monitor.state(now))
        ),
        setPauses: (present) =>
          Effect.sync(() => {
            pauses = present
            for (const monitor of monitors.values()) monitor.isPaused = isPausedBy(pauses, monitor.provider)
          }),
        reports: Effect.suspend(() =>
          Effect.forEach(
            Array.from(monitors.values()),
            (monitor) =>
              Effect.all({
                state: Effect.map(Clock.currentTimeMillis, (now) => monitor.state(now)),
                isLoading: isLoading(monitor.provider)
              }),
            { concurrency: maxConcurrentChecks }
          )
        ),
        reranker: (target, reranker) =>
          Effect.sync(() => {
            const monitor = new RerankMonitor(target, reranker)
            rerankers.push(monitor)
            return monitor
          }),
        rerankers: Effect.map(Clock.currentTimeMillis, (now) => rerankers.map((monitor) => monitor.state(now))),
        check: (request, withinMs) =>
          Effect.suspend(() =>
            Effect.forEach(
              Array.from(monitors.values()),
              (monitor) => Effect.suspend(() => check(monitor, request, deadlines.after(withinMs))),
              { concurrency: maxConcurrentChecks }
            )
          )
      })
    })
  )
}

const isLoading = ({ isLoading = Effect.succeed(false) }: Provider) =>
  Effect.catchCause(Effect.timeout(isLoading, loadingWait), () => Effect.succeed(undefined))

const observePhases = (monitor: ProviderMonitor) => {
  const { engine, provider } = namesOf(monitor.provider)
  return Effect.forEach(
    phases,
    (phase) => observe(breakerState.of(provider, engine ?? "", phase), (now) => (monitor.phase(now) === phase ? 1 : 0)),
    { discard: true }
  )
}

const check = Effect.fnUntraced(function* (monitor: ProviderMonitor, request: SearchRequest, deadline: number) {
  const startedAt = yield* Clock.currentTimeMillis
  const reason = unservedBy(monitor.provider, request)
  const attempt =
    reason === undefined
      ? Effect.flatMap(timesUntil(deadline), (times) => monitor.attempt(request, times))
      : Effect.fail(new Refusal({ reason: "unserved", message: reason }))
  const end = yield* Effect.result(attempt)
  const now = yield* Clock.currentTimeMillis
  return {
    state: monitor.state(now),
    rows: Result.isSuccess(end) ? end.success.length : undefined,
    refusal: Result.isFailure(end) ? end.failure : undefined,
    durationMs: now - startedAt
  }
})
