import { Cause, Context, Effect, type Exit, Fiber, Metric, Result, type Scope, type Tracer } from "effect"
import type { Answer } from "../domain/Answer.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import { type Deadline, Deadlines } from "./Deadlines.ts"
import { cacheLookups } from "./Metrics.ts"
import { sampledSpan } from "./Tracing.ts"

/** A larger answer is not kept: a few of them would push out thousands. */
export const maxAnswerBytes = 262_144

/** Where answers are kept, each for as long as the store is made to keep them. Those that it gives are `cached`. */
export interface ResultStore {
  readonly get: (key: string) => Effect.Effect<Answer | undefined>
  readonly set: (key: string, answer: Answer) => Effect.Effect<void>
}

/** The identity of a search: everything that its results depend on. */
export const cacheKey = (request: SearchRequest): string =>
  JSON.stringify([request.target, request.query, request.geo, request.locale, request.page, request.num, request.safe])

/** How long a search waits for its answer, and how it fails then. */
export interface Patience<E> {
  readonly until: Deadline
  readonly error: E
}

/**
 * Answers of recent searches. Two searches are the same when everything but their `source` is. Failed searches are
 * never kept (R15).
 */
export class ResultCache extends Context.Service<
  ResultCache,
  {
    /**
     * The cached answer, or that of `lookup`. Identical searches in flight share one `lookup`, which goes on while at
     * least one of them has the patience to wait. One that joined and sees it fail runs its own.
     */
    readonly get: <E, R>(
      request: SearchRequest,
      lookup: Effect.Effect<Answer, E, R>,
      patience?: Patience<E>
    ) => Effect.Effect<Answer, E, R>
  }
>()("quarry/services/ResultCache") {
  /** A cache over `store`. Lookups in flight are shared in this process only. */
  static readonly make = (store: ResultStore): Effect.Effect<ResultCache["Service"], never, Scope.Scope> =>
    Effect.gen(function* () {
      const deadlines = yield* Deadlines.make
      const flights: Flights = new Map()
      yield* Effect.addFinalizer(() => Fiber.interruptAll(Array.from(flights.values(), ({ fiber }) => fiber)))
      return ResultCache.of({
        get: (request, lookup, patience) =>
          Effect.flatMap(sampledSpan, (span) => {
            const key = cacheKey(request)
            const wait = { store, flights, deadlines, key, lookup, patience }
            const flight = flights.get(key)
            return flight === undefined ? start(wait, span) : join(wait, flight, span)
          })
      })
    })
}

/** A look into the store and the lookup that may follow, running, and the number of searches that wait for it. */
interface Flight<E> {
  readonly fiber: Fiber.Fiber<Answer, E>
  /** The span of the search that started it, where it is sampled: the work of the lookup is shown there. */
  readonly span: Tracer.Span | undefined
  waiting: number
}

type Flights = Map<string, Flight<unknown>>

/** One search that waits for its answer. */
interface Wait<E, R> {
  readonly store: ResultStore
  readonly flights: Flights
  readonly deadlines: Deadlines
  readonly key: string
  readonly lookup: Effect.Effect<Answer, E, R>
  readonly patience: Patience<E> | undefined
}

const count = (result: "hit" | "miss" | "joined"): Effect.Effect<void> => Metric.update(cacheLookups.of(result), 1)

/** Runs the lookup and keeps its answer. */
const lookUp = <E, R>({ key, lookup, store }: Wait<E, R>): Effect.Effect<Answer, E, R> =>
  Effect.tap(lookup, (answer) => store.set(key, answer))

const getOrLookUp = <E, R>(wait: Wait<E, R>): Effect.Effect<Answer, E, R> =>
  Effect.flatMap(wait.store.get(wait.key), (answer) =>
    answer === undefined ? Effect.andThen(count("miss"), lookUp(wait)) : Effect.as(count("hit"), answer)
  )

/** Lets the next search of this key start a flight of its own, once this one has landed or nobody waits for it. */
const remove = (flights: Flights, key: string, flight: Flight<unknown>): void => {
  if (flights.get(key) === flight) flights.delete(key)
}

/**
 * Waits for a flight; the last search to leave before it lands ends it. Nobody waits for that end: a provider that
 * ignores cancellation must not hold a search back beyond its deadline. Returns the function that leaves.
 */
const board = <E>(
  flights: Flights,
  key: string,
  flight: Flight<E>,
  landed: (exit: Exit.Exit<Answer, E>) => void
): (() => void) => {
  flight.waiting++
  const unobserve = flight.fiber.addObserver(landed)
  return () => {
    unobserve()
    flight.waiting--
    if (flight.waiting > 0) return
    remove(flights, key, flight)
    flight.fiber.interruptUnsafe()
  }
}

/** Starts a flight in a fiber of its own, so that it outlives the search that starts it, and waits for it. */
const start = <E, R>(wait: Wait<E, R>, span: Tracer.Span | undefined): Effect.Effect<Answer, E, R> =>
  Effect.contextWith((context: Context.Context<R>) =>
    Effect.callback((resume) => {
      const { deadlines, flights, key, patience } = wait
      const flight: Flight<E> = { fiber: Effect.runForkWith(context)(getOrLookUp(wait)), span, waiting: 0 }
      flights.set(key, flight)
      flight.fiber.addObserver(() => remove(flights, key, flight))
      let cancel = (): void => undefined
      const leave = board(flights, key, flight, (exit) => {
        cancel()
        resume(exit)
      })
      if (patience !== undefined && flight.fiber.pollUnsafe() === undefined) {
        cancel = deadlines.at(patience.until, () => {
          leave()
          resume(Effect.fail(patience.error))
        })
      }
      return Effect.sync(() => {
        cancel()
        leave()
      })
    })
  )

/** Waits for the flight of another search. Where that fails the search runs its own lookup, inside its own patience. */
const join = <E, R>(
  wait: Wait<E, R>,
  flight: Flight<unknown>,
  span: Tracer.Span | undefined
): Effect.Effect<Answer, E, R> => {
  const { deadlines, flights, key, patience } = wait
  span?.attribute("quarry.joined", true)
  if (flight.span !== undefined) span?.addLinks([{ span: flight.span, attributes: {} }])
  const landing = Effect.callback<Exit.Exit<Answer, unknown>>((resume) =>
    Effect.sync(board(flights, key, flight, (exit) => resume(Effect.succeed(exit))))
  )
  const answer = Effect.flatMap(landing, (exit) => Effect.andThen(count("joined"), answerOf(exit, wait)))
  return patience === undefined ? answer : deadlines.within(answer, patience.until, () => Effect.fail(patience.error))
}

/** The end of a joined flight for a search that waited; a bug in its lookup is one for everybody. */
const answerOf = <E, R>(exit: Exit.Exit<Answer, unknown>, wait: Wait<E, R>): Effect.Effect<Answer, E, R> => {
  if (exit._tag === "Success") return Effect.succeed(exit.value)
  const defect = Cause.findDefect(exit.cause)
  return Result.isSuccess(defect) ? Effect.die(defect.success) : lookUp(wait)
}
