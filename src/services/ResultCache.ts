import { Cause, Context, Effect, type Exit, Fiber, FiberSet, Result, type Scope, type Tracer } from "effect"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import type { Found } from "./Providers.ts"
import { sampledSpan } from "./Tracing.ts"

export interface Cached extends Found {
  /** Whether the answer was there already. A search that joined another's lookup is no hit. */
  readonly cached: boolean
}

/** Where answers are kept, each for as long as the store is made to keep them. */
export interface ResultStore {
  readonly get: (key: string) => Effect.Effect<Found | undefined>
  readonly set: (key: string, found: Found) => Effect.Effect<void>
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

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Answers of recent searches. Two searches are the same when everything but their `source` is. Failed searches are
 * never kept (R15).
 */
export class ResultCache extends Context.Service<
  ResultCache,
  {
    /**
     * The kept answer, or that of `lookup`. Identical searches in flight share one `lookup`, which goes on while at
     * least one of them waits. One that joined and sees it fail runs its own.
     */
    readonly get: <E, R>(request: SearchRequest, lookup: Effect.Effect<Found, E, R>) => Effect.Effect<Cached, E, R>
  }
>()("quarry/services/ResultCache") {
  /** A cache over `store`. What is in flight is shared in this process only. */
  static readonly make = (store: ResultStore): Effect.Effect<ResultCache["Service"], never, Scope.Scope> =>
    Effect.gen(function* () {
      const fibers = yield* FiberSet.make<Cached, unknown>()
      const flights = new Map<string, Flight<unknown>>()

      const fresh = <E, R>(key: string, lookup: Effect.Effect<Found, E, R>): Effect.Effect<Cached, E, R> =>
        lookup.pipe(
          Effect.tap((found) => store.set(key, found)),
          Effect.map((found) => ({ ...found, cached: false }))
        )

      const keptOrFresh = <E, R>(key: string, lookup: Effect.Effect<Found, E, R>): Effect.Effect<Cached, E, R> =>
        Effect.flatMap(store.get(key), (found) =>
          found === undefined ? fresh(key, lookup) : Effect.succeed({ ...found, cached: true })
        )

      /** Each flight leaves its place to the next as soon as it has landed or nobody waits for it. */
      const vacate = (key: string, flight: Flight<unknown>): void => {
        if (flights.get(key) === flight) flights.delete(key)
      }

      /**
       * Starts in a fiber of its own, so that it outlives the search that started it. Without a yield between the look
       * for a flight and its entry here: two searches must not both find the place empty.
       */
      const takeOff = <E>(key: string, fiber: Fiber.Fiber<Cached, E>, span: Tracer.Span | undefined): Flight<E> => {
        const flight: Flight<E> = { fiber, span, waiting: 0 }
        flights.set(key, flight)
        FiberSet.addUnsafe(fibers, fiber)
        fiber.addObserver(() => vacate(key, flight))
        return flight
      }

      /**
       * Waits for a flight; the last one to leave before it lands ends it. Nobody waits for that end: a provider that
       * ignores cancellation must not hold a search back beyond its own time.
       */
      const board = <E>(key: string, flight: Flight<E>, restore: Restore): Effect.Effect<Exit.Exit<Cached, E>> => {
        flight.waiting++
        return restore(Fiber.await(flight.fiber)).pipe(
          Effect.ensuring(
            Effect.sync(() => {
              flight.waiting--
              if (flight.waiting > 0) return
              vacate(key, flight)
              flight.fiber.interruptUnsafe()
            })
          )
        )
      }

      /** What a joined flight brought; a bug in the lookup is one for everybody who waited for it. */
      const joined = <E, R>(
        exit: Exit.Exit<Cached, unknown>,
        own: Effect.Effect<Cached, E, R>
      ): Effect.Effect<Cached, E, R> => {
        if (exit._tag === "Success") return Effect.succeed(exit.value)
        const defect = Cause.findDefect(exit.cause)
        return Result.isSuccess(defect) ? Effect.die(defect.success) : own
      }

      return ResultCache.of({
        get: <E, R>(request: SearchRequest, lookup: Effect.Effect<Found, E, R>) =>
          Effect.uninterruptibleMask((restore) =>
            Effect.gen(function* () {
              const key = cacheKey(request)
              const context = yield* Effect.context<R>()
              const span = yield* sampledSpan
              const inFlight = flights.get(key)
              if (inFlight !== undefined) {
                span?.attribute("quarry.joined", true)
                if (inFlight.span !== undefined) span?.addLinks([{ span: inFlight.span, attributes: {} }])
                const exit = yield* board(key, inFlight, restore)
                return yield* joined(exit, restore(fresh(key, lookup)))
              }
              const flight = takeOff(key, Effect.runForkWith(context)(keptOrFresh(key, lookup)), span)
              return yield* yield* board(key, flight, restore)
            })
          )
      })
    })
}
