import { Cause, Clock, Context, Effect, Exit, Layer, Metric, Option, Result, Scope } from "effect"
import type { Capabilities } from "../domain/Capabilities.ts"
import type { UpstreamRow } from "../domain/Organic.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import { Breaker, type BreakerState, breakerStates } from "./Breaker.ts"
import { Deadlines } from "./Deadlines.ts"
import { observe } from "./Instrument.ts"
import { breakerState, providerDuration } from "./Metrics.ts"
import { type Provider, Refusal, type RefusalReason } from "./Provider.ts"

/** What is known of a provider and engine in this process. Times are Unix milliseconds. */
export interface ProviderState {
  readonly name: string
  readonly state: BreakerState
  /** When an open breaker lets a search through again. */
  readonly retryAt: number | undefined
  readonly answers: number
  readonly refusals: number
  readonly lastSuccessAt: number | undefined
  readonly lastRefusal: { readonly at: number; readonly reason: RefusalReason; readonly message: string } | undefined
  /** Of its last answers; undefined until it gave one. */
  readonly latencyMs: { readonly p50: number; readonly p95: number; readonly p99: number } | undefined
  /** Undefined when it serves everything. */
  readonly capabilities: Capabilities | undefined
}

/** The provider and the engine that it is asked for: a provider's own name has no slash. */
export const namesOf = ({
  name
}: {
  readonly name: string
}): { readonly provider: string; readonly engine: string | null } => {
  const [provider = "", ...engine] = name.split("/")
  return { provider, engine: engine.length === 0 ? null : engine.join("/") }
}

/** What came of one search at a provider. */
export interface Checked {
  readonly state: ProviderState
  /** Undefined when it refused. */
  readonly rows: number | undefined
  readonly refusal: Refusal | undefined
  readonly durationMs: number
}

/** Answers that percentiles are told from: enough for a p95, few enough to follow a provider that slows down. */
const maxSamples = 128

const maxConcurrentChecks = 8

/** Fewer do not tell what is slow for a provider. */
const minHedgeSamples = 20

/** How long the last answers took. */
class Latencies {
  private readonly samples: Array<number> = []
  private next = 0
  private sorted: ReadonlyArray<number> | undefined

  add(ms: number): void {
    this.samples[this.next] = ms
    this.next = (this.next + 1) % maxSamples
    this.sorted = undefined
  }

  get count(): number {
    return this.samples.length
  }

  /** Undefined without samples. */
  percentile(share: number): number | undefined {
    this.sorted ??= this.samples.toSorted((a, b) => a - b)
    return this.sorted[Math.max(0, Math.ceil(this.sorted.length * share) - 1)]
  }
}

const timeout = (message: string) => new Refusal({ reason: "timeout", message })
export const unanswered = (withinMs: number) => timeout(`no answer in ${withinMs} ms`)

type Ended = Exit.Exit<ReadonlyArray<UpstreamRow> | undefined, Refusal>

/**
 * An attempt that is interrupted after so much of its time has not answered in time. The search's own clock started
 * before the attempt's, and would else always end the last attempt without a word about the provider.
 */
const spentShare = 0.95

/** How an attempt ended. One that another overtook, or whose search was given up, is `abandoned`. */
const outcomeOf = (exit: Ended): RefusalReason | "ok" | "abandoned" | "defect" => {
  if (Exit.isSuccess(exit)) return exit.value === undefined ? "timeout" : "ok"
  return Option.match(Cause.findErrorOption(exit.cause), {
    onNone: () => (Exit.hasDies(exit) ? "defect" : "abandoned"),
    onSome: ({ reason }) => reason
  })
}

/** A provider with what is known of it. */
export class Tracked {
  readonly provider: Provider
  readonly breaker = new Breaker()
  private readonly names: ReturnType<typeof namesOf>
  private readonly deadlines: Deadlines
  private readonly latencies = new Latencies()
  private answers = 0
  private refusals = 0
  private lastSuccessAt: number | undefined
  private lastRefusal: ProviderState["lastRefusal"]

  constructor(provider: Provider, deadlines: Deadlines) {
    this.provider = provider
    this.names = namesOf(provider)
    this.deadlines = deadlines
  }

  /** What its slowest answers take; undefined while too few are known. */
  get slowMs(): number | undefined {
    return this.latencies.count < minHedgeSamples ? undefined : this.latencies.percentile(0.95)
  }

  /** Asks the provider, for no longer than `withinMs`, and remembers what came of it. No rows: it did not answer. */
  ask(
    request: SearchRequest,
    withinMs: number,
    maxQueueMs?: number
  ): Effect.Effect<ReadonlyArray<UpstreamRow> | undefined, Refusal> {
    return Clock.clockWith((clock) => {
      const startedAt = clock.currentTimeMillisUnsafe()
      const forget = this.breaker.begin(startedAt)
      const search = Effect.suspend(() => this.provider.search(request, maxQueueMs)).pipe(
        Effect.catchCause(this.refusalOf)
      )
      const asked = this.deadlines.within(search, withinMs, () => Effect.undefined)
      return Effect.onExit(asked, (exit) => {
        const now = clock.currentTimeMillisUnsafe()
        forget()
        return this.remember(exit, startedAt, now, withinMs)
      })
    })
  }

  /**
   * A defect is a refusal too: an answer that breaks its adapter must not keep the search from the next provider. It is
   * logged as an error, because it is a bug of ours. Interruption stays interruption.
   */
  private readonly refusalOf = (cause: Cause.Cause<Refusal>): Effect.Effect<never, Refusal> =>
    Cause.hasDies(cause) && !Cause.hasInterrupts(cause)
      ? Effect.andThen(
          Effect.logError(`Provider ${this.provider.name} broke its adapter`, cause),
          Effect.fail(new Refusal({ reason: "malformed", message: "its answer broke its adapter" }))
        )
      : Effect.failCause(cause)

  private remember(ended: Ended, startedAt: number, now: number, withinMs: number): Effect.Effect<void> {
    const spent = now - startedAt >= withinMs * spentShare
    const exit: Ended = spent && Exit.hasInterrupts(ended) ? Exit.succeed(undefined) : ended
    const duration = providerDuration.of(this.names.provider, this.names.engine ?? "", outcomeOf(exit))
    return Effect.andThen(Metric.update(duration, (now - startedAt) / 1000), this.learn(exit, startedAt, now, withinMs))
  }

  private learn(exit: Ended, startedAt: number, now: number, withinMs: number): Effect.Effect<void> {
    if (Exit.isSuccess(exit) && exit.value !== undefined) {
      this.answers += 1
      this.lastSuccessAt = now
      this.latencies.add(now - startedAt)
      this.breaker.succeeded()
      return Effect.void
    }
    if (Exit.isSuccess(exit)) return this.refused(unanswered(withinMs), now)
    // Interrupted or a bug: neither says anything about the provider.
    return Option.match(Cause.findErrorOption(exit.cause), {
      onNone: () => Effect.void,
      onSome: (refusal) => this.refused(refusal, now)
    })
  }

  /** Another provider answered while this one, asked before it, still owes its answer. */
  readonly overtaken: Effect.Effect<void> = Effect.flatMap(Clock.currentTimeMillis, (now) =>
    this.refused(timeout("another provider, asked later, answered before it"), now)
  )

  private refused(refusal: Refusal, now: number): Effect.Effect<void> {
    const { message, reason } = refusal
    this.refusals += 1
    this.lastRefusal = { at: now, reason, message }
    const openMs = this.breaker.refused(refusal, now)
    if (openMs === undefined) return Effect.void
    const log = reason === "unauthorized" ? Effect.logError : Effect.logWarning
    return log(`Provider ${this.provider.name} is left out for ${openMs} ms: ${reason} (${message})`)
  }

  state(now: number): ProviderState {
    const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => this.latencies.percentile(share))
    return {
      name: this.provider.name,
      state: this.breaker.state(now),
      retryAt: this.breaker.until,
      answers: this.answers,
      refusals: this.refusals,
      lastSuccessAt: this.lastSuccessAt,
      lastRefusal: this.lastRefusal,
      latencyMs: p50 === undefined || p95 === undefined || p99 === undefined ? undefined : { p50, p95, p99 },
      capabilities: this.provider.capabilities
    }
  }
}

/** What this process knows of its providers: each with the engine it is asked for. */
export class ProviderStates extends Context.Service<
  ProviderStates,
  {
    /** The same for the same provider. */
    readonly track: (provider: Provider) => Effect.Effect<Tracked>
    readonly all: Effect.Effect<ReadonlyArray<ProviderState>>
    /** Asks each for itself, open or not. */
    readonly check: (request: SearchRequest, withinMs: number) => Effect.Effect<ReadonlyArray<Checked>>
  }
>()("quarry/services/ProviderStates") {
  static readonly layer = Layer.effect(
    ProviderStates,
    Effect.gen(function* () {
      const tracked = new Map<Provider, Tracked>()
      const deadlines = yield* Deadlines.make
      const scope = yield* Effect.scope
      const add = Effect.fnUntraced(function* (provider: Provider) {
        const added = new Tracked(provider, deadlines)
        tracked.set(provider, added)
        const { engine, provider: name } = namesOf(provider)
        for (const state of breakerStates) {
          yield* observe(breakerState.of(name, engine ?? "", state), (now) =>
            added.breaker.state(now) === state ? 1 : 0
          )
        }
        return added
      }, Scope.provide(scope))
      const checkOne = Effect.fnUntraced(function* (it: Tracked, request: SearchRequest, withinMs: number) {
        const startedAt = yield* Clock.currentTimeMillis
        const outcome = yield* Effect.result(it.ask(request, withinMs))
        const now = yield* Clock.currentTimeMillis
        const rows = Result.isSuccess(outcome) ? outcome.success : undefined
        const refusal = Result.isFailure(outcome) ? outcome.failure : unanswered(withinMs)
        return {
          state: it.state(now),
          rows: rows?.length,
          refusal: rows === undefined ? refusal : undefined,
          durationMs: now - startedAt
        }
      })
      return ProviderStates.of({
        track: (provider) =>
          Effect.suspend(() => {
            const known = tracked.get(provider)
            return known === undefined ? add(provider) : Effect.succeed(known)
          }),
        all: Effect.map(Clock.currentTimeMillis, (now) => Array.from(tracked.values(), (it) => it.state(now))),
        check: (request, withinMs) =>
          Effect.suspend(() =>
            Effect.forEach(Array.from(tracked.values()), (it) => checkOne(it, request, withinMs), {
              concurrency: maxConcurrentChecks
            })
          )
      })
    })
  )
}
