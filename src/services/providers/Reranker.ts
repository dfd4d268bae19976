import { Clock, Effect, Metric, Result, type Tracer } from "effect"
import * as CoolDown from "../../domain/providers/CoolDown.ts"
import { Refusal } from "../../domain/providers/Refusal.ts"
import type { Answer } from "../../domain/search/Answer.ts"
import { Ranking } from "../../domain/search/Ranking.ts"
import { reorder, rerankText } from "../../domain/search/Reranking.ts"
import type { Target } from "../../domain/search/Target.ts"
import { rerankDuration } from "../telemetry/Metrics.ts"
import { withSpan } from "../telemetry/Tracing.ts"

/** Orders texts by how well they answer a query (R86). */
export interface Reranker {
  readonly type: string
  /** Maximum number of texts in one call. */
  readonly top: number
  readonly timeoutMs: number
  /** Returns the indexes of the texts, the best one first. Not all of them need to be named. */
  readonly order: (query: string, texts: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<number>, Refusal>
}

/** As seen by this process. Times are Unix milliseconds. */
export interface RerankState {
  readonly target: Target
  readonly type: string
  readonly top: number
  readonly timeoutMs: number
  readonly phase: CoolDown.Phase
  readonly retryAt: number | undefined
  readonly answers: number
  readonly refusals: number
  readonly lastSuccessAt: number | undefined
  readonly lastRefusal:
    | { readonly at: number; readonly reason: Refusal["reason"]; readonly message: string }
    | undefined
}

/** The search must still be able to return the order that it has. */
const returnMs = 100

const describe = (span: Tracer.Span, target: Target, type: string): void => {
  if (!span.sampled) return
  span.attribute("quarry.target", target)
  span.attribute("quarry.rerank.type", type)
}

/** The reranker of one target, with its circuit breaker. */
export class RerankMonitor {
  private readonly target: Target
  private readonly reranker: Reranker
  private coolDown = CoolDown.closed
  private answers = 0
  private refusals = 0
  private lastSuccessAt: number | undefined
  private lastRefusal: RerankState["lastRefusal"]

  constructor(target: Target, reranker: Reranker) {
    this.target = target
    this.reranker = reranker
  }

  state(now: number): RerankState {
    const { timeoutMs, top, type } = this.reranker
    return {
      target: this.target,
      type,
      top,
      timeoutMs,
      phase: CoolDown.phase(this.coolDown, now),
      retryAt: this.coolDown.until,
      answers: this.answers,
      refusals: this.refusals,
      lastSuccessAt: this.lastSuccessAt,
      lastRefusal: this.lastRefusal
    }
  }

  /** Returns the answer in its new order. If the reranker fails, the answer is unchanged and will not be cached. */
  rerank(query: string, answer: Answer, timeLeftMs: number): Effect.Effect<Answer> {
    if (answer.ranking.count < 2) return Effect.succeed(answer)
    const { target } = this
    const { timeoutMs, type } = this.reranker
    const withinMs = Math.min(timeoutMs, timeLeftMs - returnMs)
    return withSpan("Reranker.rerank", { kind: "client" }, (span) =>
      Clock.clockWith((clock) => {
        describe(span, target, type)
        const startedAt = clock.currentTimeMillisUnsafe()
        const end = (outcome: string, ordered: Answer): Effect.Effect<Answer> => {
          if (span.sampled) span.attribute("quarry.rerank.outcome", outcome)
          const seconds = (clock.currentTimeMillisUnsafe() - startedAt) / 1000
          return Effect.as(Metric.update(rerankDuration.of(target, type, outcome), seconds), ordered)
        }
        const provisional: Answer = { ...answer, isProvisional: true }
        if (!CoolDown.admits(this.coolDown, startedAt)) return end("cool_down", provisional)
        // The provider used up the search's time, so this says nothing about the reranker.
        if (withinMs <= 0) return end("no_time", provisional)
        return Effect.flatMap(Effect.result(this.attempt(query, answer, withinMs)), (ranked) =>
          Result.isSuccess(ranked)
            ? end("ok", { ...answer, ranking: ranked.success })
            : end(ranked.failure.reason, provisional)
        )
      })
    )
  }

  private attempt(query: string, { ranking }: Answer, withinMs: number): Effect.Effect<Ranking, Refusal> {
    const { order, timeoutMs, top } = this.reranker
    return Clock.clockWith((clock) => {
      const isProbe = CoolDown.isProbe(this.coolDown, clock.currentTimeMillisUnsafe())
      if (isProbe) this.coolDown = CoolDown.startProbe(this.coolDown)
      const { results } = ranking
      return order(query, results.slice(0, top).map(rerankText)).pipe(
        Effect.flatMap((named) => {
          const ordered = reorder(results, named, top)
          return ordered === undefined
            ? Effect.fail(new Refusal({ reason: "malformed", message: "it named an unknown or repeated row" }))
            : Effect.succeed(new Ranking(ordered))
        }),
        Effect.timeoutOrElse({
          duration: withinMs,
          orElse: () =>
            Effect.fail(new Refusal({ reason: "timeout", message: `no response in ${Math.round(withinMs)} ms` }))
        }),
        // A timeout is the reranker's fault only if it had all of its `timeoutMs`.
        Effect.tapError((refusal) =>
          refusal.reason === "timeout" && withinMs < timeoutMs ? Effect.void : this.recordRefusal(refusal)
        ),
        Effect.tap(() => Effect.sync(() => this.recordAnswer(clock.currentTimeMillisUnsafe()))),
        Effect.ensuring(
          Effect.sync(() => {
            if (isProbe) this.coolDown = CoolDown.endProbe(this.coolDown)
          })
        )
      )
    })
  }

  private recordAnswer(now: number): void {
    this.answers += 1
    this.lastSuccessAt = now
    this.coolDown = CoolDown.closed
  }

  private recordRefusal(refusal: Refusal): Effect.Effect<void> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const { message, reason } = refusal
      this.refusals += 1
      this.lastRefusal = { at: now, reason, message }
      const before = this.coolDown
      this.coolDown = CoolDown.recordRefusal(before, CoolDown.providerPolicy, refusal, now)
      const openMs = (this.coolDown.until ?? now) - now
      const skipped = this.coolDown.openings === before.openings ? "" : ` It is not asked for ${openMs} ms.`
      return Effect.logWarning(`The reranker of ${this.target} failed: ${reason} (${message}).${skipped}`)
    })
  }
}
