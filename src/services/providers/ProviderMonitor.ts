import { Cause, Clock, Effect, Exit, Metric, Option } from "effect"
import * as CoolDown from "../../domain/providers/CoolDown.ts"
import { namesOf } from "../../domain/providers/providerNames.ts"
import { Refusal, type RefusalReason } from "../../domain/providers/Refusal.ts"
import type { Capabilities } from "../../domain/search/Capabilities.ts"
import type { UpstreamRow } from "../../domain/search/Organic.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import { providerDuration } from "../telemetry/Metrics.ts"
import { type Deadline, type Deadlines, msUntil } from "../waiting/Deadlines.ts"
import type { LeftOutReason } from "./Attempts.ts"
import { type Provider, unservedBy } from "./Provider.ts"
import type { Turn } from "./Turn.ts"

/** Enough samples for a p95, and few enough to follow a provider that slows down. */
const maxSamples = 128

/** Durations of the latest responses, in milliseconds. */
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

  percentile(share: number): number | undefined {
    this.sorted ??= this.samples.toSorted((a, b) => a - b)
    return this.sorted[Math.max(0, Math.ceil(this.sorted.length * share) - 1)]
  }
}

/** As seen by this process. Times are Unix milliseconds. */
export interface ProviderState {
  readonly name: string
  readonly phase: CoolDown.Phase
  readonly retryAt: number | undefined
  /** True while an operator has paused it. */
  readonly isPaused: boolean
  readonly answers: number
  readonly refusals: number
  /** The latest `maxSamples` calls. Calls that failed for reasons other than the provider are not counted. */
  readonly recent: { readonly calls: number; readonly answers: number }
  readonly lastSuccessAt: number | undefined
  readonly lastRefusal: { readonly at: number; readonly reason: RefusalReason; readonly message: string } | undefined
  /** Undefined before the first answer. */
  readonly latencyMs: { readonly p50: number; readonly p95: number; readonly p99: number } | undefined
  /** Undefined if it supports all searches. */
  readonly capabilities: Capabilities | undefined
}

/** Answers needed before the 95th percentile is meaningful. */
const minHedgeSamples = 20

type Rows = ReadonlyArray<UpstreamRow>

/** An attempt whose provider was asked. */
interface Sent {
  readonly at: number
  readonly until: Deadline
  readonly ms: number
  readonly isProbe: boolean
}

/** Limits the time for which one search waits for a provider and uses it. */
export interface AttemptTimes extends Pick<Turn, "account" | "maxWaitMs"> {
  /** The end of the wait for a turn. */
  readonly waitUntil: Deadline
  /** The end of the attempt if it is sent now. Called once, when the provider is asked. */
  readonly send: () => Deadline
}

/** For calls that no account pays for: everything until one deadline. */
export const timesUntil = (deadline: Deadline): Effect.Effect<AttemptTimes> =>
  Clock.clockWith((clock) =>
    Effect.succeed({
      account: "",
      waitUntil: deadline,
      maxWaitMs: () => msUntil(clock, deadline),
      send: () => deadline
    })
  )

const lateRefusal = (ms: number) =>
  new Refusal({ reason: "timeout", message: `no response in ${Math.round(ms)} ms`, isLate: true })

const noTurn = new Refusal({ reason: "busy", message: "its call limits left no slot in time" })
const paused = new Refusal({ reason: "busy", message: "it was paused while the search waited for it" })
const cooledDown = new Refusal({ reason: "busy", message: "it began to cool down while the search waited for it" })

/** The outcome in metrics: `abandoned` if another attempt was faster or the caller left. */
const outcomeOf = (exit: Exit.Exit<Rows, Refusal>, refusal: Refusal | undefined) => {
  if (refusal !== undefined) return refusal.reason
  if (Exit.isSuccess(exit)) return "ok"
  return Exit.hasDies(exit) ? "defect" : "abandoned"
}

const refusalOf = (exit: Exit.Exit<Rows, Refusal>): Refusal | undefined =>
  Exit.isSuccess(exit) ? undefined : Option.getOrUndefined(Cause.findErrorOption(exit.cause))

export class ProviderMonitor {
  readonly provider: Provider
  private readonly names: ReturnType<typeof namesOf>
  private readonly deadlines: Deadlines
  private readonly latencies = new Latencies()
  private readonly outcomes: Array<boolean> = []
  private calls = 0
  /** Searches skip it. `ProviderStates.check` still calls it. */
  isPaused = false
  private coolDown = CoolDown.closed
  private answers = 0
  private refusals = 0
  private lastSuccessAt: number | undefined
  private lastRefusal: ProviderState["lastRefusal"]

  constructor(provider: Provider, deadlines: Deadlines) {
    this.provider = provider
    this.names = namesOf(provider)
    this.deadlines = deadlines
  }

  /** Undefined while there are too few answers. */
  get slowMs(): number | undefined {
    return this.latencies.count < minHedgeSamples ? undefined : this.latencies.percentile(0.95)
  }

  admits(now: number): boolean {
    return !this.isPaused && CoolDown.admits(this.coolDown, now)
  }

  /** True if it may be called during its cool-down if no other provider is left. */
  get isLastResort(): boolean {
    return !this.isPaused && this.coolDown.lastResort
  }

  /** The reason that a search recorded when it left the provider out. */
  reasonToSkip(request: SearchRequest): LeftOutReason {
    if (unservedBy(this.provider, request) !== undefined) return "unserved"
    return this.isPaused ? "paused" : "cool_down"
  }

  phase(now: number): CoolDown.Phase {
    return CoolDown.phase(this.coolDown, now)
  }

  /** Milliseconds that a search of this account would wait for the provider's call limits. */
  waitMs(account: string, now: number): number {
    return this.provider.limits?.expectedWaitMs(account, now) ?? 0
  }

  /**
   * Calls the provider and records the result. The attempt's time begins when the provider is asked; an attempt
   * interrupted at its end is a `timeout`. `onRefusal` also runs for interrupted attempts, which no error handler would
   * see.
   */
  attempt(
    request: SearchRequest,
    times: AttemptTimes,
    onRefusal?: (refusal: Refusal) => Effect.Effect<void>
  ): Effect.Effect<Rows, Refusal> {
    return Clock.clockWith((clock) => {
      const startedAt = clock.currentTimeMillisUnsafe()
      const { openings } = this.coolDown
      const wasPaused = this.isPaused
      let sent: Sent | undefined
      const late = () => (sent === undefined ? noTurn : lateRefusal(sent.ms))
      const search = (move: (deadline: Deadline) => void) => {
        const send = (): Refusal | undefined => {
          if (sent !== undefined) return undefined
          if (this.isPaused && !wasPaused) return paused
          const now = clock.currentTimeMillisUnsafe()
          if (this.coolDown.openings > openings && !this.admits(now) && !this.isLastResort) return cooledDown
          const isProbe = CoolDown.isProbe(this.coolDown, now)
          if (isProbe) this.coolDown = CoolDown.startProbe(this.coolDown)
          const until = times.send()
          sent = { at: now, until, ms: msUntil(clock, until), isProbe }
          move(until)
          return undefined
        }
        if (this.provider.limits === undefined) send()
        const turn: Turn = { account: times.account, maxWaitMs: times.maxWaitMs, send }
        return Effect.suspend(() => this.provider.search(request, turn)).pipe(
          Effect.catchCause((cause) => this.refuseDefect(cause))
        )
      }
      const bounded = this.deadlines.untilMoving(search, times.waitUntil, () => Effect.fail(late()))
      return Effect.onExit(bounded, (exit) => {
        const now = clock.currentTimeMillisUnsafe()
        if (sent?.isProbe === true) this.coolDown = CoolDown.endProbe(this.coolDown)
        const refusal = refusalOf(exit) ?? (this.isCutOff(exit, sent) ? late() : undefined)
        const duration = providerDuration.of(this.names.provider, this.names.engine ?? "", outcomeOf(exit, refusal))
        const measure = Metric.update(duration, (now - startedAt) / 1000)
        if (refusal === undefined) return Effect.andThen(measure, this.recordAnswer(exit, sent?.at ?? startedAt, now))
        const record = Effect.andThen(measure, this.recordRefusal(refusal, now))
        return onRefusal === undefined ? record : Effect.andThen(record, onRefusal(refusal))
      })
    })
  }

  /** Records a refusal because another provider, called later, answered first. */
  readonly recordOvertaking: Effect.Effect<void> = Effect.suspend(() =>
    this.recordLateness("another provider answered first, although it was called later")
  )

  /** Records a refusal of an attempt that the search no longer waits for. */
  recordLateness(message: string): Effect.Effect<void> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      this.recordRefusal(new Refusal({ reason: "timeout", message }), now)
    )
  }

  state(now: number): ProviderState {
    const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => this.latencies.percentile(share))
    return {
      name: this.provider.name,
      phase: this.phase(now),
      retryAt: this.coolDown.until,
      isPaused: this.isPaused,
      answers: this.answers,
      refusals: this.refusals,
      recent: { calls: this.outcomes.length, answers: this.outcomes.filter(Boolean).length },
      lastSuccessAt: this.lastSuccessAt,
      lastRefusal: this.lastRefusal,
      latencyMs: p50 === undefined || p95 === undefined || p99 === undefined ? undefined : { p50, p95, p99 },
      capabilities: this.provider.capabilities
    }
  }

  /** Turns a defect into a refusal, so that the next provider is called. It is a bug in the adapter, hence logged. */
  private refuseDefect(cause: Cause.Cause<Refusal>): Effect.Effect<never, Refusal> {
    if (!Cause.hasDies(cause) || Cause.hasInterrupts(cause)) return Effect.failCause(cause)
    return Effect.andThen(
      Effect.logError(`Provider ${this.provider.name} caused a defect in its adapter`, cause),
      Effect.fail(new Refusal({ reason: "malformed", message: "the response caused a defect in the adapter" }))
    )
  }

  /** True if the search interrupted the attempt at their common deadline. The end of a batch is earlier. */
  private isCutOff(exit: Exit.Exit<Rows, Refusal>, sent: Sent | undefined): boolean {
    return sent !== undefined && Exit.isFailure(exit) && Exit.hasInterrupts(exit) && this.deadlines.isPast(sent.until)
  }

  private recordAnswer(exit: Exit.Exit<Rows, Refusal>, startedAt: number, now: number): Effect.Effect<void> {
    if (Exit.isFailure(exit)) return Effect.void
    this.countOutcome(true)
    this.answers += 1
    this.lastSuccessAt = now
    this.latencies.add(now - startedAt)
    this.coolDown = CoolDown.closed
    return Effect.void
  }

  private countOutcome(isAnswer: boolean): void {
    this.outcomes[this.calls++ % maxSamples] = isAnswer
  }

  private recordRefusal(refusal: Refusal, now: number): Effect.Effect<void> {
    const { message, reason } = refusal
    this.refusals += 1
    this.lastRefusal = { at: now, reason, message }
    if (refusal.isOfSearch === true) return Effect.void
    if (reason !== "busy" && reason !== "unserved") this.countOutcome(false)
    const before = this.coolDown
    this.coolDown = CoolDown.recordRefusal(before, CoolDown.providerPolicy, refusal, now)
    if (this.coolDown.openings === before.openings) return Effect.void
    const log = reason === "unauthorized" ? Effect.logError : Effect.logWarning
    const openMs = (this.coolDown.until ?? now) - now
    return log(`Provider ${this.provider.name} will be skipped for ${openMs} ms: ${reason} (${message})`)
  }
}
