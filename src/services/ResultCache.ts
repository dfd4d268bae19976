import { Cause, Context, Effect, type Exit, Fiber, Metric, Result, type Scope, type Tracer } from "effect"
import type { Answer } from "../domain/Answer.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import type { Attempts } from "./Attempts.ts"
import { type Deadline, Deadlines } from "./Deadlines.ts"
import { cacheLookups } from "./Metrics.ts"
import { sampledSpan } from "./Tracing.ts"

/** The largest answer that is stored, because a few larger ones would evict thousands of others. */
export const maxAnswerBytes = 262_144

/** The store of a result cache. It sets the lifetime of answers, and marks those that it returns as `cached`. */
export interface ResultStore {
  readonly get: (key: string) => Effect.Effect<Answer | undefined>
  readonly set: (key: string, answer: Answer) => Effect.Effect<void>
}

/** The cache key of a search: every field that its results depend on. */
export const cacheKey = (request: SearchRequest): string =>
  JSON.stringify([request.target, request.query, request.geo, request.locale, request.page, request.num, request.safe])

/** The deadline of a search's wait for its answer, and the error with which it fails then. */
export interface AnswerDeadline<E> {
  readonly at: Deadline
  readonly error: E
}

/** A cache of answers. Searches that differ only in `source` share an answer. Errors are never stored (R15). */
export class ResultCache extends Context.Service<
  ResultCache,
  {
    /**
     * The cached answer, or that of `lookup`. Identical concurrent searches share one `lookup`, which runs while at least
     * one of them waits for it. Where it fails, each search that joined it runs its own. `attempts` are those that
     * `lookup` makes; a search that joins another gets the attempts of that too.
     */
    readonly get: <E, R>(
      request: SearchRequest,
      lookup: Effect.Effect<Answer, E, R>,
      deadline?: AnswerDeadline<E>,
      attempts?: Attempts
    ) => Effect.Effect<Answer, E, R>
  }
>()("quarry/services/ResultCache") {
  /** Makes a cache over a store. Only lookups of the same process are shared. */
  static readonly make = (store: ResultStore): Effect.Effect<ResultCache["Service"], never, Scope.Scope> =>
    Effect.gen(function* () {
      const deadlines = yield* Deadlines.make
      const flights: Flights = new Map()
      yield* Effect.addFinalizer(() =>
        Fiber.interruptAll(Array.from(flights.values()).flatMap(({ flight }) => flight?.fiber ?? []))
      )
      return ResultCache.of({
        get: (request, lookup, deadline, attempts) =>
          Effect.flatMap(sampledSpan, (span) => {
            const key = cacheKey(request)
            const wait = { store, flights, deadlines, key, lookup, deadline, attempts }
            const flight = flights.get(key)?.flight
            return flight === undefined ? startFlight(wait, span) : joinFlight(wait, flight, span)
          })
      })
    })
}

/** A running read of the store and lookup, which identical searches share ("single flight"). */
interface Flight<E> {
  readonly fiber: Fiber.Fiber<Answer, E>
  /** The span of the search that started it, where it is sampled. The spans of the lookup are its children. */
  readonly span: Tracer.Span | undefined
  /** The attempts of the search that started it. */
  readonly attempts: Attempts | undefined
  /** The number of searches that wait for it. */
  waiters: number
}

/** The flight of a key, cleared as it is removed: old copies of the `Map`'s table would keep it (see `Deadlines`). */
interface Slot {
  flight: Flight<unknown> | undefined
}

type Flights = Map<string, Slot>

/** One search that waits for its answer. */
interface Wait<E, R> {
  readonly store: ResultStore
  readonly flights: Flights
  readonly deadlines: Deadlines
  readonly key: string
  readonly lookup: Effect.Effect<Answer, E, R>
  readonly deadline: AnswerDeadline<E> | undefined
  readonly attempts: Attempts | undefined
}

const count = (result: "hit" | "miss" | "joined"): Effect.Effect<void> => Metric.update(cacheLookups.of(result), 1)

/** Runs the lookup and stores its answer. */
const lookUp = <E, R>({ key, lookup, store }: Wait<E, R>): Effect.Effect<Answer, E, R> =>
  Effect.tap(lookup, (answer) => store.set(key, answer))

const getOrLookUp = <E, R>(wait: Wait<E, R>): Effect.Effect<Answer, E, R> =>
  Effect.flatMap(wait.store.get(wait.key), (answer) =>
    answer === undefined ? Effect.andThen(count("miss"), lookUp(wait)) : Effect.as(count("hit"), answer)
  )

/** Removes a flight that has ended or has no waiters, so that the next search of its key starts another. */
const remove = (flights: Flights, key: string, flight: Flight<unknown>): void => {
  const slot = flights.get(key)
  if (slot?.flight !== flight) return
  flights.delete(key)
  slot.flight = undefined
}

/**
 * Adds a waiter to a flight and returns the function that removes it. The last waiter to leave interrupts the flight,
 * but does not wait for its end: a provider that ignores cancellation would delay the search beyond its deadline.
 */
const addWaiter = <E>(
  flights: Flights,
  key: string,
  flight: Flight<E>,
  onExit: (exit: Exit.Exit<Answer, E>) => void
): (() => void) => {
  flight.waiters++
  const unobserve = flight.fiber.addObserver(onExit)
  return () => {
    unobserve()
    flight.waiters--
    if (flight.waiters > 0) return
    remove(flights, key, flight)
    flight.fiber.interruptUnsafe()
  }
}

/** Starts a flight and waits for it. It runs in a fiber of its own, so that it can outlive the search that started it. */
const startFlight = <E, R>(wait: Wait<E, R>, span: Tracer.Span | undefined): Effect.Effect<Answer, E, R> =>
  Effect.contextWith((context: Context.Context<R>) =>
    Effect.callback((resume) => {
      const { attempts, deadline, deadlines, flights, key } = wait
      const flight: Flight<E> = { fiber: Effect.runForkWith(context)(getOrLookUp(wait)), span, attempts, waiters: 0 }
      flights.set(key, { flight })
      flight.fiber.addObserver(() => remove(flights, key, flight))
      let cancel = (): void => undefined
      const leave = addWaiter(flights, key, flight, (exit) => {
        cancel()
        resume(exit)
      })
      if (deadline !== undefined && flight.fiber.pollUnsafe() === undefined) {
        cancel = deadlines.at(deadline.at, () => {
          leave()
          resume(Effect.fail(deadline.error))
        })
      }
      return Effect.sync(() => {
        cancel()
        leave()
      })
    })
  )

/** Waits for the flight of another search. Where that fails, this search runs its own lookup until its own deadline. */
const joinFlight = <E, R>(
  wait: Wait<E, R>,
  flight: Flight<unknown>,
  span: Tracer.Span | undefined
): Effect.Effect<Answer, E, R> => {
  const { deadline, deadlines, flights, key } = wait
  span?.attribute("quarry.joined", true)
  if (flight.attempts !== undefined) wait.attempts?.join(flight.attempts)
  if (flight.span !== undefined) span?.addLinks([{ span: flight.span, attributes: {} }])
  const end = Effect.callback<Exit.Exit<Answer, unknown>>((resume) =>
    Effect.sync(addWaiter(flights, key, flight, (exit) => resume(Effect.succeed(exit))))
  )
  const answer = Effect.flatMap(end, (exit) => Effect.andThen(count("joined"), answerOf(exit, wait)))
  return deadline === undefined ? answer : deadlines.within(answer, deadline.at, () => Effect.fail(deadline.error))
}

/** The answer of a joined flight, or of another lookup where that failed. A defect fails every search that joined. */
const answerOf = <E, R>(exit: Exit.Exit<Answer, unknown>, wait: Wait<E, R>): Effect.Effect<Answer, E, R> => {
  if (exit._tag === "Success") return Effect.succeed(exit.value)
  const defect = Cause.findDefect(exit.cause)
  return Result.isSuccess(defect) ? Effect.die(defect.success) : lookUp(wait)
}
