import { Clock, Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import type { SearchRequest } from "../../src/domain/search/SearchRequest.ts"
import { Limits } from "../../src/services/providers/Limits.ts"
import { Providers } from "../../src/services/providers/Providers.ts"
import { deadlineIn } from "../../src/services/search/Deadlines.ts"

/** Lets every fiber that can run go on until it waits for something. */
export const settle = Effect.forEach(Array(50), () => Effect.yieldNow, { discard: true })

/** Moves the test's clock, with every fiber at rest before and after: what is due has happened when it returns. */
export const advance = (by: Duration.Input) => settle.pipe(Effect.andThen(TestClock.adjust(by)), Effect.andThen(settle))

/**
 * Sets the test's clock before an effect starts. Pipe it behind the layers: a layer that sleeps in a loop would
 * otherwise wake for each interval since 1970, which takes longer than a test may.
 */
export const startingAt =
  (moment: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.andThen(TestClock.setTime(Date.parse(moment)), effect)

/** The deadline of a search that starts now. */
export const deadlineAfter = (ms: number) => Clock.clockWith((clock) => Effect.sync(() => deadlineIn(clock, ms)))

/** One search by the providers alone, with the time that a search has. */
export const searchProviders = (request: SearchRequest) =>
  Effect.gen(function* () {
    const providers = yield* Providers
    return yield* providers.search(request, yield* deadlineAfter(Duration.toMillis((yield* Limits).providerTimeout)))
  })
