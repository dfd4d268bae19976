import { Cause, Clock, Context, Effect, type Exit, Layer, Metric, Result, type Tracer } from "effect"
import type { UpstreamTimeout } from "../../domain/errors.ts"
import type { Answer } from "../../domain/search/Answer.ts"
import type { Attempts } from "../providers/Attempts.ts"
import type { SearchError, TargetSearch } from "../providers/Candidate.ts"
import { Limits, providerTimedOut } from "../providers/Limits.ts"
import { Providers } from "../providers/Providers.ts"
import { cacheLookups } from "../telemetry/Metrics.ts"
import { sampledSpan } from "../telemetry/Tracing.ts"
import { Deadlines, deadlineIn } from "../waiting/Deadlines.ts"
import { type Flight, Flights } from "../waiting/Flights.ts"
import { cacheKey, ResultCache } from "./ResultCache.ts"

/** Answers from the cache, or from the providers. Searches that differ only in `source` share an answer. */
export class Answers extends Context.Service<
  Answers,
  {
    /**
     * Fails at the search's deadline at the latest. Identical concurrent searches in this process share one lookup,
     * which runs while at least one of them waits. If it fails, each search that joined runs its own (R15). The search's
     * attempts include those of a shared lookup. Errors are never cached.
     */
    readonly find: (search: TargetSearch) => Effect.Effect<Answer, SearchError>
  }
>()("quarry/services/search/Answers") {
  static readonly layer = Layer.effect(
    Answers,
    Effect.gen(function* () {
      return { find: yield* makeFind(yield* ResultCache, (yield* Providers).search) }
    })
  )
}

/** The search that started a flight, for searches that join it. */
interface Starter {
  /** Its span, if sampled. Spans of the lookup are its children. */
  readonly span: Tracer.Span | undefined
  readonly attempts: Attempts
}

const count = (result: "hit" | "miss" | "joined"): Effect.Effect<void> => Metric.update(cacheLookups.of(result), 1)

/** Makes `Answers.find`. `ask` sends a search to the providers. */
export const makeFind = Effect.fnUntraced(function* <E>(
  cache: ResultCache["Service"],
  ask: (search: TargetSearch) => Effect.Effect<Answer, E>
) {
  const deadlines = yield* Deadlines.make
  const timeoutError = providerTimedOut((yield* Limits).providerTimeout)
  const flights = new Flights<Answer, Starter>()
  yield* Effect.addFinalizer(() => flights.interruptAll)

  const askAndKeep = (key: string, search: TargetSearch): Effect.Effect<Answer, E> =>
    Effect.tap(ask(search), (answer) => (answer.isProvisional === true ? Effect.void : cache.set(key, answer)))

  const lookUp = (key: string, search: TargetSearch): Effect.Effect<Answer, E> =>
    Effect.flatMap(cache.get(key), (answer) =>
      answer === undefined ? Effect.andThen(count("miss"), askAndKeep(key, search)) : Effect.as(count("hit"), answer)
    )

  const join = (key: string, flight: Flight<Answer, unknown, Starter>, search: TargetSearch) =>
    Effect.flatMap(sampledSpan, (span) =>
      Clock.clockWith((clock) => {
        const { note } = flight
        span?.attribute("quarry.joined", true)
        if (note.span !== undefined) span?.addLinks([{ span: note.span, attributes: {} }])
        search.attempts.join(note.attempts, deadlineIn(clock, 0))
        return Effect.flatMap(flights.waitFor(key, flight), (exit) =>
          Effect.andThen(count("joined"), answerOf(exit, askAndKeep(key, search)))
        )
      })
    )

  const shared = (search: TargetSearch): Effect.Effect<Answer, E> =>
    Effect.suspend(() => {
      const key = cacheKey(search.request)
      const flight = flights.find(key)
      if (flight !== undefined) return join(key, flight, search)
      return Effect.flatMap(sampledSpan, (span) =>
        Effect.contextWith((context: Context.Context<never>) => {
          const started = flights.start(key, lookUp(key, search), context, { span, attempts: search.attempts })
          return Effect.flatten(flights.waitFor(key, started))
        })
      )
    })

  return (search: TargetSearch): Effect.Effect<Answer, E | UpstreamTimeout> =>
    deadlines.untilMoving(
      (move) => {
        search.attempts.whenSent((sentAt) => move(search.endIfSentAt(sentAt)))
        return shared(search)
      },
      search.sendBy,
      () => Effect.fail(timeoutError)
    )
})

/** A defect fails all searches that joined. After an error, each runs its own lookup. */
const answerOf = <E>(exit: Exit.Exit<Answer, unknown>, own: Effect.Effect<Answer, E>): Effect.Effect<Answer, E> => {
  if (exit._tag === "Success") return Effect.succeed(exit.value)
  const defect = Cause.findDefect(exit.cause)
  return Result.isSuccess(defect) ? Effect.die(defect.success) : own
}
