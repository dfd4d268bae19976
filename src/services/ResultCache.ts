import { Cause, Context, Effect, type Exit, Fiber, Metric, Result, type Scope, type Tracer } from "effect"
import type { Ranking } from "../domain/Organic.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import { Deadlines } from "./Deadlines.ts"
import { cacheLookups } from "./Metrics.ts"
import { sampledSpan } from "./Tracing.ts"

/** An answer as it is kept. */
export interface Kept {
  /** Name of the provider that answered. */
  readonly provider: string
  readonly ranking: Ranking
}

export interface Cached extends Kept {
  /** Whether the answer was there already. A search that joined another's lookup is no hit. */
  readonly cached: boolean
}

/** A larger answer is not kept: a few of them would push out thousands. */
export const maxAnswerBytes = 262_144

/** Where answers are kept, each for as long as the store is made to keep them. */
export interface ResultStore {
  readonly get: (key: string) => Effect.Effect<Kept | undefined>
  readonly set: (key: string, found: Kept) => Effect.Effect<void>
}

/** The identity of a search: everything that its results depend on. */
export const cacheKey = (request: SearchRequest): string =>
  JSON.stringify([request.target, request.query, request.geo, request.locale, request.page, request.num, request.safe])

/** A look into the store and the lookup it may lead to, under way, and how many searches wait for it. */
interface Flight<E> {
  readonly fiber: Fiber.Fiber<Cached, E>
  /** Of the search that started it, where that is kept: what the lookup does is told there. */
  readonly span: Tracer.Span | undefined
  waiting: number
}

const count = (result: "hit" | "miss" | "joined"): Effect.Effect<void> => Metric.update(cacheLookups.of(result), 1)

/** How long a search waits for its answer, and how it fails then. */
export interface Patience<E> {
  readonly ms: number
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
     * The kept answer, or that of `lookup`. Identical searches in flight share one `lookup`, which goes on while at
     * least one of them has the patience to wait. One that joined and sees it fail runs its own.
     */
    readonly get: <E, R>(
      request: SearchRequest,
      lookup: Effect.Effect<Kept, E, R>,
      patience?: Patience<E>
    ) => Effect.Effect<Cached, E, R>
  }
>()("quarry/services/ResultCache") {
  /** A cache over `store`. What is in flight is shared in this process only. */
  static readonly make = (store: ResultStore): Effect.Effect<ResultCache["Service"], never, Scope.Scope> =>
    Effect.gen(function* () {
      const deadlines = yield* Deadlines.make
      const flights = new Map<string, Flight<unknown>>()
      yield* Effect.addFinalizer(() => Fiber.interruptAll(Array.from(flights.values(), ({ fiber }) => fiber)))

      const fresh = <E, R>(key: string, lookup: Effect.Effect<Kept, E, R>): Effect.Effect<Cached, E, R> =>
        Effect.flatMap(lookup, (found) => Effect.as(store.set(key, found), { ...found, cached: false }))

      const keptOrFresh = <E, R>(key: string, lookup: Effect.Effect<Kept, E, R>): Effect.Effect<Cached, E, R> =>
        Effect.flatMap(store.get(key), (found) =>
          found === undefined
            ? Effect.andThen(count("miss"), fresh(key, lookup))
            : Effect.as(count("hit"), { ...found, cached: true })
        )

      /** Each flight leaves its place to the next as soon as it has landed or nobody waits for it. */
      const vacate = (key: string, flight: Flight<unknown>): void => {
        if (flights.get(key) === flight) flights.delete(key)
      }

      /** Starts in a fiber of its own, so that it outlives the search that started it. */
      const takeOff = <E>(key: string, fiber: Fiber.Fiber<Cached, E>, span: Tracer.Span | undefined): Flight<E> => {
        const flight: Flight<E> = { fiber, span, waiting: 0 }
        flights.set(key, flight)
        fiber.addObserver(() => vacate(key, flight))
        return flight
      }

      /**
       * Waits for a flight; the last one to leave before it lands ends it. Nobody waits for that end: a provider that
       * ignores cancellation must not hold a search back beyond its own time. Answers what leaves.
       */
      const board = <E>(key: string, flight: Flight<E>, landed: (exit: Exit.Exit<Cached, E>) => void): (() => void) => {
        flight.waiting++
        const unobserve = flight.fiber.addObserver(landed)
        return () => {
          unobserve()
          flight.waiting--
          if (flight.waiting > 0) return
          vacate(key, flight)
          flight.fiber.interruptUnsafe()
        }
      }

      const start = <E, R>(
        key: string,
        lookup: Effect.Effect<Kept, E, R>,
        span: Tracer.Span | undefined,
        patience: Patience<E> | undefined
      ): Effect.Effect<Cached, E, R> =>
        Effect.contextWith((context: Context.Context<R>) =>
          Effect.callback((resume) => {
            const flight = takeOff(key, Effect.runForkWith(context)(keptOrFresh(key, lookup)), span)
            let callOff = (): void => undefined
            const leave = board(key, flight, (exit) => {
              callOff()
              resume(exit)
            })
            if (patience !== undefined && flight.fiber.pollUnsafe() === undefined) {
              callOff = deadlines.after(patience.ms, () => {
                leave()
                resume(Effect.fail(patience.error))
              })
            }
            return Effect.sync(() => {
              callOff()
              leave()
            })
          })
        )

      /** What a joined flight brought; a bug in the lookup is one for everybody who waited for it. */
      const joined = <E, R>(
        exit: Exit.Exit<Cached, unknown>,
        own: Effect.Effect<Cached, E, R>
      ): Effect.Effect<Cached, E, R> => {
        if (exit._tag === "Success") return Effect.succeed(exit.value)
        const defect = Cause.findDefect(exit.cause)
        return Result.isSuccess(defect) ? Effect.die(defect.success) : own
      }

      const join = <E, R>(
        key: string,
        lookup: Effect.Effect<Kept, E, R>,
        flight: Flight<unknown>
      ): Effect.Effect<Cached, E, R> =>
        Effect.callback((resume) => {
          const leave = board(key, flight, (exit) =>
            resume(Effect.andThen(count("joined"), joined(exit, fresh(key, lookup))))
          )
          return Effect.sync(leave)
        })

      return ResultCache.of({
        get: <E, R>(request: SearchRequest, lookup: Effect.Effect<Kept, E, R>, patience?: Patience<E>) =>
          Effect.flatMap(sampledSpan, (span) => {
            const key = cacheKey(request)
            const flight = flights.get(key)
            if (flight === undefined) return start(key, lookup, span, patience)
            span?.attribute("quarry.joined", true)
            if (flight.span !== undefined) span?.addLinks([{ span: flight.span, attributes: {} }])
            const own = join(key, lookup, flight)
            return patience === undefined ? own : deadlines.within(own, patience.ms, () => Effect.fail(patience.error))
          })
      })
    })
}
