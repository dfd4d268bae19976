import { Clock, Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import type { SearchRequest } from "../../src/domain/search/SearchRequest.ts"
import { Limits } from "../../src/services/providers/Limits.ts"
import { Providers } from "../../src/services/providers/Providers.ts"
import { deadlineIn } from "../../src/services/search/Deadlines.ts"

/** Runs every fiber until it waits for something. */
export const settle = Effect.forEach(Array(50), () => Effect.yieldNow, { discard: true })

/** Advances the test's clock, with all fibers at rest before and after: everything due has happened when it returns. */
export const advance = (by: Duration.Input) => settle.pipe(Effect.andThen(TestClock.adjust(by)), Effect.andThen(settle))

/**
 * Sets the test's clock before an effect starts. Pipe it after the layers: a layer that sleeps in a loop would
 * otherwise wake up for each interval since 1970, which takes longer than a test may.
 */
export const startingAt =
  (moment: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.andThen(TestClock.setTime(Date.parse(moment)), effect)

/** Deadline of a search that starts now. */
export const deadlineAfter = (ms: number) => Clock.clockWith((clock) => Effect.sync(() => deadlineIn(clock, ms)))

/** A single search by the providers, with the usual time limit. */
export const searchProviders = (request: SearchRequest) =>
  Effect.gen(function* () {
    const providers = yield* Providers
    return yield* providers.search(request, yield* deadlineAfter(Duration.toMillis((yield* Limits).providerTimeout)))
  })
