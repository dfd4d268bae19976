import { Clock, Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { unsentError } from "../../src/domain/providers/Unsent.ts"
import type { Answer } from "../../src/domain/search/Answer.ts"
import type { SearchRequest } from "../../src/domain/search/SearchRequest.ts"
import { Attempts } from "../../src/services/providers/Attempts.ts"
import type { TargetSearch } from "../../src/services/providers/Candidate.ts"
import { Limits, providerTimedOut } from "../../src/services/providers/Limits.ts"
import { Providers } from "../../src/services/providers/Providers.ts"
import { deadlineIn } from "../../src/services/search/Deadlines.ts"
import type { ResultCache } from "../../src/services/search/ResultCache.ts"

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

/** A search that starts now, with the usual time limit. */
export const targetSearch = Effect.fnUntraced(function* (request: SearchRequest, attempts = new Attempts()) {
  const { providerTimeout } = yield* Limits
  const budgetMs = Duration.toMillis(providerTimeout)
  const search: TargetSearch = {
    request,
    account: "acc_test",
    deadline: yield* deadlineAfter(budgetMs),
    budgetMs,
    attempts,
    timeoutError: providerTimedOut(providerTimeout),
    unsentError
  }
  return search
})

/** A single search by the providers. */
export const searchProviders = (request: SearchRequest, attempts?: Attempts) =>
  Effect.flatMap(Providers, (providers) => Effect.flatMap(targetSearch(request, attempts), providers.search))

/** A single search by the cache. */
export const searchCache = <E, R>(
  cache: ResultCache["Service"],
  request: SearchRequest,
  lookup: Effect.Effect<Answer, E, R>
) => Effect.flatMap(targetSearch(request), (search) => cache.get(search, lookup))
