import { Clock, type Context, Duration, Effect, Option, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { UpstreamTimeout } from "../../src/domain/errors.ts"
import type { Answer } from "../../src/domain/search/Answer.ts"
import type { SearchRequest } from "../../src/domain/search/SearchRequest.ts"
import { Attempts } from "../../src/services/providers/Attempts.ts"
import type { TargetSearch } from "../../src/services/providers/Candidate.ts"
import { Limits } from "../../src/services/providers/Limits.ts"
import { Providers } from "../../src/services/providers/Providers.ts"
import { makeFind } from "../../src/services/search/Answers.ts"
import type { ResultCache } from "../../src/services/search/ResultCache.ts"
import { deadlineIn } from "../../src/services/waiting/Deadlines.ts"
import { limits } from "../../src/testing/StandardSettings.ts"

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

/** A search that starts now, with the test's time limit or else the usual one. */
export const targetSearch = Effect.fnUntraced(function* (request: SearchRequest, attempts = new Attempts()) {
  const given = yield* Effect.serviceOption(Limits)
  const { providerTimeout } = Option.getOrElse(given, () => limits)
  const sendBy = yield* deadlineAfter(Duration.toMillis(providerTimeout))
  const search: TargetSearch = { request, account: "acc_test", attempts, sendBy, endIfSentAt: () => sendBy }
  return search
})

/** A single search by the providers. */
export const searchProviders = (request: SearchRequest, attempts?: Attempts) =>
  Effect.flatMap(Providers, (providers) => Effect.flatMap(targetSearch(request, attempts), providers.search))

type Find = Effect.Success<ReturnType<typeof makeFind<unknown>>>

/** Searches of one cache share lookups, as those of a process do. */
const finds = new WeakMap<ResultCache["Service"], Find>()
const lookups = new WeakMap<TargetSearch, Effect.Effect<Answer, unknown>>()

const findOf = Effect.fnUntraced(function* (cache: ResultCache["Service"]) {
  const known = finds.get(cache)
  if (known !== undefined) return known
  const ask = (search: TargetSearch) => lookups.get(search) ?? Effect.die("a search without a lookup")
  const find = yield* makeFind(cache, ask).pipe(
    Scope.provide(yield* Scope.make()),
    Effect.provideService(Limits, limits)
  )
  finds.set(cache, find)
  return find
})

/** A single search by the cache, with its own lookup in place of the providers. */
export const searchCache = <E, R>(
  cache: ResultCache["Service"],
  request: SearchRequest,
  lookup: Effect.Effect<Answer, E, R>
): Effect.Effect<Answer, E | UpstreamTimeout, R> =>
  Effect.contextWith((context: Context.Context<R>) =>
    Effect.gen(function* () {
      const search = yield* targetSearch(request)
      lookups.set(search, Effect.provideContext(lookup, context))
      const found = (yield* findOf(cache))(search)
      // The cast: the lookups of a test's search fail alike.
      return yield* found as Effect.Effect<Answer, E | UpstreamTimeout>
    })
  )
