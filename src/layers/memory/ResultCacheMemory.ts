import { Cause, Clock, Duration, Effect, type Exit, Fiber, FiberSet, Layer, Result } from "effect"
import type { SearchRequest } from "../../domain/SearchRequest.ts"
import type { Found } from "../../services/Providers.ts"
import { cacheKey, ResultCache } from "../../services/ResultCache.ts"

/** A lookup under way and how many searches wait for it. */
interface Flight<E> {
  readonly fiber: Fiber.Fiber<Found, E>
  waiting: number
}

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Answers of a process's recent searches, the least recently asked for dropped first. */
const makeKept = (options: { readonly ttl: Duration.Duration; readonly capacity: number }) => {
  const ttlMs = Duration.toMillis(options.ttl)
  const kept = new Map<string, { readonly found: Found; readonly expiresAt: number }>()
  return {
    get: (key: string, now: number): Found | undefined => {
      const entry = kept.get(key)
      if (entry === undefined) return undefined
      kept.delete(key)
      if (entry.expiresAt <= now) return undefined
      kept.set(key, entry)
      return entry.found
    },
    set: (key: string, found: Found, now: number): void => {
      if (ttlMs <= 0 || options.capacity <= 0) return
      kept.delete(key)
      kept.set(key, { found, expiresAt: now + ttlMs })
      if (kept.size <= options.capacity) return
      for (const oldest of kept.keys()) {
        kept.delete(oldest)
        return
      }
    }
  }
}

/**
 * Keeps answers in this process. A `ttl` or a `capacity` of 0 keeps none, while identical searches in flight still
 * share one lookup.
 */
export const layer = (options: {
  readonly ttl: Duration.Duration
  /** Most answers kept. */
  readonly capacity: number
}): Layer.Layer<ResultCache> =>
  Layer.effect(
    ResultCache,
    Effect.gen(function* () {
      const fibers = yield* FiberSet.make<Found, unknown>()
      const kept = makeKept(options)
      const flights = new Map<string, Flight<unknown>>()

      const keeping = <E, R>(key: string, lookup: Effect.Effect<Found, E, R>) =>
        Effect.tap(lookup, (found) => Effect.map(Clock.currentTimeMillis, (now) => kept.set(key, found, now)))

      /** Each flight leaves its place to the next as soon as it has landed or nobody waits for it. */
      const vacate = (key: string, flight: Flight<unknown>): void => {
        if (flights.get(key) === flight) flights.delete(key)
      }

      /**
       * Starts a lookup in a fiber of its own, so that it outlives the search that started it. Without a yield between
       * the look for a flight and its entry here: two searches must not both find the place empty.
       */
      const takeOff = <E>(key: string, fiber: Fiber.Fiber<Found, E>): Flight<E> => {
        const flight: Flight<E> = { fiber, waiting: 0 }
        flights.set(key, flight)
        FiberSet.addUnsafe(fibers, fiber)
        fiber.addObserver(() => vacate(key, flight))
        return flight
      }

      /** Waits for a flight; the last one to leave before it lands ends it. */
      const board = <E>(key: string, flight: Flight<E>, restore: Restore): Effect.Effect<Exit.Exit<Found, E>> => {
        flight.waiting++
        return restore(Fiber.await(flight.fiber)).pipe(
          Effect.ensuring(
            Effect.suspend(() => {
              flight.waiting--
              if (flight.waiting > 0) return Effect.void
              vacate(key, flight)
              return Fiber.interrupt(flight.fiber)
            })
          )
        )
      }

      /** What a joined flight brought; a bug in the lookup is one for everybody who waited for it. */
      const joined = <E, R>(
        exit: Exit.Exit<Found, unknown>,
        own: Effect.Effect<Found, E, R>
      ): Effect.Effect<Found, E, R> => {
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
              const found = kept.get(key, yield* Clock.currentTimeMillis)
              if (found !== undefined) return { ...found, cached: true }
              const inFlight = flights.get(key)
              if (inFlight !== undefined) {
                const exit = yield* board(key, inFlight, restore)
                return { ...(yield* joined(exit, restore(keeping(key, lookup)))), cached: false }
              }
              const flight = takeOff(key, Effect.runForkWith(context)(keeping(key, lookup)))
              return { ...(yield* yield* board(key, flight, restore)), cached: false }
            })
          )
      })
    })
  )
