import { Cause, Clock, Context, Effect, type Exit, Metric, Result, type Scope, type Tracer } from "effect"
import type { UpstreamTimeout } from "../../domain/errors.ts"
import type { Answer } from "../../domain/search/Answer.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import type { Attempts } from "../providers/Attempts.ts"
import type { TargetSearch } from "../providers/Candidate.ts"
import { cacheLookups } from "../telemetry/Metrics.ts"
import { sampledSpan } from "../telemetry/Tracing.ts"
import { type Deadline, Deadlines, deadlineIn } from "./Deadlines.ts"
import { type Flight, Flights } from "./Flights.ts"

/** Larger responses are not cached: a few of them would evict thousands of others. */
export const maxAnswerBytes = 262_144

/** The store of a result cache. It limits the lifetime of answers and marks those it returns as `cached`. */
export interface ResultStore {
  readonly get: (key: string) => Effect.Effect<Answer | undefined>
  readonly set: (key: string, answer: Answer) => Effect.Effect<void>
}

/** All fields that the results depend on. */
export const cacheKey = ({ geo, locale, num, options, page, query, safe, target }: SearchRequest): string =>
  JSON.stringify(
    options === undefined
      ? [target, query, geo, locale, page, num, safe]
      : [target, query, geo, locale, page, num, safe, options]
  )

/** A cache of answers. Searches that differ only in `source` share an answer. Errors are never stored (R15). */
export class ResultCache extends Context.Service<
  ResultCache,
  {
    /**
     * Returns the cached answer or runs `lookup`. Identical concurrent searches share one `lookup`, which runs while at
     * least one of them waits. If it fails, each search that joined runs its own. The search's attempts include those of
     * a shared lookup.
     */
    readonly get: <E, R>(
      search: TargetSearch,
      lookup: Effect.Effect<Answer, E, R>
    ) => Effect.Effect<Answer, E | UpstreamTimeout, R>
  }
>()("quarry/services/ResultCache") {
  /** Only lookups in the same process are shared. */
  static readonly make = (store: ResultStore): Effect.Effect<ResultCache["Service"], never, Scope.Scope> =>
    Effect.gen(function* () {
      const deadlines = yield* Deadlines.make
      const flights: AnswerFlights = new Flights()
      yield* Effect.addFinalizer(() => flights.interruptAll)
      return ResultCache.of({
        get: (search, lookup) =>
          Effect.flatMap(sampledSpan, (span) => {
            const key = cacheKey(search.request)
            const wait = { store, flights, deadlines, key, search, lookup }
            const flight = flights.find(key)
            return flight === undefined ? startFlight(wait, span) : joinFlight(wait, flight, span)
          })
      })
    })
}

/** The search that started a flight, for searches that join it. */
interface Starter {
  /** Its span, if sampled. Spans of the lookup are its children. */
  readonly span: Tracer.Span | undefined
  readonly attempts: Attempts
}

type AnswerFlights = Flights<Answer, Starter>

interface Wait<E, R> {
  readonly store: ResultStore
  readonly flights: AnswerFlights
  readonly deadlines: Deadlines
  readonly key: string
  readonly search: TargetSearch
  readonly lookup: Effect.Effect<Answer, E, R>
}

const count = (result: "hit" | "miss" | "joined"): Effect.Effect<void> => Metric.update(cacheLookups.of(result), 1)

const lookUp = <E, R>({ key, lookup, store }: Wait<E, R>): Effect.Effect<Answer, E, R> =>
  Effect.tap(lookup, (answer) => (answer.isProvisional === true ? Effect.void : store.set(key, answer)))

const getOrLookUp = <E, R>(wait: Wait<E, R>): Effect.Effect<Answer, E, R> =>
  Effect.flatMap(wait.store.get(wait.key), (answer) =>
    answer === undefined ? Effect.andThen(count("miss"), lookUp(wait)) : Effect.as(count("hit"), answer)
  )

/** A row may wait until its batch ends, but once it is sent, its own time runs (R77). */
const onEarlierEnd = ({ attempts, budgetMs, deadline }: TargetSearch, move: (deadline: Deadline) => void): void =>
  attempts.whenSent((sentAt) => {
    if (sentAt + budgetMs < deadline) move(sentAt + budgetMs)
  })

const startFlight = <E, R>(
  wait: Wait<E, R>,
  span: Tracer.Span | undefined
): Effect.Effect<Answer, E | UpstreamTimeout, R> =>
  Effect.contextWith((context: Context.Context<R>) =>
    Effect.callback((resume) => {
      const { deadlines, flights, key, search } = wait
      const flight = flights.start(key, getOrLookUp(wait), context, { span, attempts: search.attempts })
      let isOver = false
      let cancelTimer = (): void => undefined
      const cancel = () => {
        isOver = true
        cancelTimer()
      }
      const leave = flights.addWaiter(key, flight, (exit) => {
        cancel()
        resume(exit)
      })
      const setDeadline = (deadline: Deadline) => {
        if (isOver) return
        cancelTimer()
        cancelTimer = deadlines.at(deadline, () => {
          isOver = true
          leave()
          resume(Effect.fail(search.timeoutError))
        })
      }
      if (flight.fiber.pollUnsafe() === undefined) {
        setDeadline(search.deadline)
        onEarlierEnd(search, setDeadline)
      }
      return Effect.sync(() => {
        cancel()
        leave()
      })
    })
  )

/** Waits for another search's flight. If that fails, runs its own lookup until its own deadline. */
const joinFlight = <E, R>(
  wait: Wait<E, R>,
  flight: Flight<Answer, unknown, Starter>,
  span: Tracer.Span | undefined
): Effect.Effect<Answer, E | UpstreamTimeout, R> =>
  Clock.clockWith((clock) => {
    const { deadlines, flights, key, search } = wait
    span?.attribute("quarry.joined", true)
    const { note } = flight
    search.attempts.join(note.attempts, deadlineIn(clock, 0))
    if (note.span !== undefined) span?.addLinks([{ span: note.span, attributes: {} }])
    const end = Effect.callback<Exit.Exit<Answer, unknown>>((resume) =>
      Effect.sync(flights.addWaiter(key, flight, (exit) => resume(Effect.succeed(exit))))
    )
    const answer = Effect.flatMap(end, (exit) => Effect.andThen(count("joined"), answerOf(exit, wait)))
    const run = (move: (deadline: Deadline) => void) => {
      onEarlierEnd(search, move)
      return answer
    }
    return deadlines.withinMoving(run, search.deadline, () => Effect.fail(search.timeoutError))
  })

/** A defect fails all searches that joined. */
const answerOf = <E, R>(exit: Exit.Exit<Answer, unknown>, wait: Wait<E, R>): Effect.Effect<Answer, E, R> => {
  if (exit._tag === "Success") return Effect.succeed(exit.value)
  const defect = Cause.findDefect(exit.cause)
  return Result.isSuccess(defect) ? Effect.die(defect.success) : lookUp(wait)
}
