import { assert, describe, it } from "@effect/vitest"
import { Cause, Data, Deferred, Effect, Exit, Fiber, type Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import type { UpstreamTimeout } from "../../../../src/domain/errors.ts"
import type { Answer } from "../../../../src/domain/search/Answer.ts"
import { Ranking } from "../../../../src/domain/search/Ranking.ts"
import { ResultCache } from "../../../../src/services/search/ResultCache.ts"
import { searchRequest } from "../../../support/api/requests.ts"
import { searchCache } from "../../../support/Time.ts"

class Failed extends Data.TaggedError("Failed")<{ readonly attempt: number }> {}

/** A lookup that counts its runs, and answers each when the test says so. The test waits for a run to begin. */
const makeUpstream = Effect.fnUntraced(function* (settle: Effect.Effect<void>) {
  const runs: Array<Deferred.Deferred<Answer, Failed>> = []
  let interrupted = 0
  const lookup = Effect.suspend(() => {
    const run = Deferred.makeUnsafe<Answer, Failed>()
    runs.push(run)
    return Deferred.await(run).pipe(Effect.onInterrupt(() => Effect.sync(() => interrupted++)))
  })
  const run = Effect.fnUntraced(function* (attempt: number) {
    for (let turn = 0; turn < 100; turn++) {
      const found = runs[attempt - 1]
      if (found !== undefined) return found
      yield* settle
    }
    return yield* Effect.die(`lookup ${attempt} has not run`)
  })
  return {
    lookup,
    runs: () => runs.length,
    interrupted: () => interrupted,
    answer: (attempt: number) =>
      Effect.flatMap(run(attempt), (run) =>
        Deferred.succeed(run, { provider: `run ${attempt}`, ranking: new Ranking([]), cached: false })
      ),
    fail: (attempt: number) => Effect.flatMap(run(attempt), (run) => Deferred.fail(run, new Failed({ attempt }))),
    defect: (attempt: number) => Effect.flatMap(run(attempt), (run) => Deferred.die(run, "a bug"))
  }
})

/** Lets every fiber that can run do so. */
export const yieldToOthers = Effect.forEach(Array.from({ length: 20 }), () => Effect.yieldNow, { discard: true })

/** What every layer of the result cache promises (R15) inside one process. */
export const resultCacheConformance = (
  name: string,
  options: {
    readonly layer: Layer.Layer<ResultCache>
    /** Lets every search get to its lookup, or to its end. */
    readonly settle: Effect.Effect<void>
  }
): void => {
  const { layer, settle } = options
  let tests = 0
  /** A search of its own for each test: a shared store remembers those of others. */
  const promise = (
    title: string,
    body: (query: string) => Effect.Effect<void, Failed | Answer | UpstreamTimeout, ResultCache>
  ) => it.effect(title, () => body(`conformance ${name} ${tests++}`).pipe(Effect.provide(layer)))

  describe(`ResultCache: ${name}`, () => {
    promise("R15: answers a repeated search without a lookup and says so", (query) =>
      Effect.gen(function* () {
        const cache = yield* ResultCache
        const result = { position: 1, title: "A", url: "https://a.test/", domain: "a.test", snippet: "" }
        const found: Answer = { provider: "p", ranking: new Ranking([result]), cached: false }
        const request = searchRequest({ query })
        assert.deepStrictEqual(yield* searchCache(cache, request, Effect.succeed(found)), found)
        assert.deepStrictEqual(yield* searchCache(cache, request, Effect.die("looked up again")), {
          ...found,
          cached: true
        })
      })
    )

    promise("two searches are the same when everything but their source is", (query) =>
      Effect.gen(function* () {
        const cache = yield* ResultCache
        const cached = (fields: Parameters<typeof searchRequest>[0]) =>
          Effect.map(
            searchCache(
              cache,
              searchRequest({ query, ...fields }),
              Effect.succeed({ provider: "p", ranking: new Ranking([]), cached: false })
            ),
            ({ cached }) => cached
          )
        assert.isFalse(yield* cached({}))
        assert.isTrue(yield* cached({ source: "other" }))
        for (const field of [
          { target: "beta_search" },
          { query: `${query} more` },
          { geo: "de" },
          { locale: "de-de" },
          { page: 2 },
          { num: 9 },
          { safe: "strict" }
        ] as const) {
          assert.isFalse(yield* cached(field), JSON.stringify(field))
        }
      })
    )

    promise("R15: identical searches in flight share one lookup, and none of them is a hit", (query) =>
      Effect.gen(function* () {
        const cache = yield* ResultCache
        const upstream = yield* makeUpstream(settle)
        const get = searchCache(cache, searchRequest({ query }), upstream.lookup)
        const waiting = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(get))
        yield* settle
        yield* upstream.answer(1)
        const answers = yield* Effect.forEach(waiting, Fiber.join)
        assert.deepStrictEqual(
          answers.map(({ cached, provider }) => ({ cached, provider })),
          [
            { cached: false, provider: "run 1" },
            { cached: false, provider: "run 1" },
            { cached: false, provider: "run 1" }
          ]
        )
        assert.strictEqual(upstream.runs(), 1)
      })
    )

    promise("R15: failures are not kept", (query) =>
      Effect.gen(function* () {
        const cache = yield* ResultCache
        const request = searchRequest({ query })
        const failure = yield* Effect.flip(searchCache(cache, request, Effect.fail(new Failed({ attempt: 1 }))))
        assert.deepStrictEqual(failure, new Failed({ attempt: 1 }))
        const retried = yield* searchCache(
          cache,
          request,
          Effect.succeed({ provider: "p", ranking: new Ranking([]), cached: false })
        )
        assert.isFalse(retried.cached)
      })
    )

    promise("R15: a search that joined and sees the lookup fail runs its own", (query) =>
      Effect.gen(function* () {
        const cache = yield* ResultCache
        const upstream = yield* makeUpstream(settle)
        const get = searchCache(cache, searchRequest({ query }), upstream.lookup)
        const starter = yield* Effect.forkChild(get)
        yield* settle
        const joiner = yield* Effect.forkChild(get)
        yield* settle
        yield* upstream.fail(1)
        assert.deepStrictEqual(yield* Effect.flip(Fiber.join(starter)), new Failed({ attempt: 1 }))
        yield* settle
        assert.strictEqual(upstream.runs(), 2)
        yield* upstream.answer(2)
        const answer = yield* Fiber.join(joiner)
        assert.deepStrictEqual([answer.provider, answer.cached], ["run 2", false])
      })
    )

    promise("R15: the lookup goes on without the search that started it while another waits", (query) =>
      Effect.gen(function* () {
        const cache = yield* ResultCache
        const upstream = yield* makeUpstream(settle)
        const get = searchCache(cache, searchRequest({ query }), upstream.lookup)
        const starter = yield* Effect.forkChild(get)
        yield* settle
        const joiner = yield* Effect.forkChild(get)
        yield* settle
        yield* Fiber.interrupt(starter)
        yield* settle
        yield* upstream.answer(1)
        assert.strictEqual((yield* Fiber.join(joiner)).provider, "run 1")
        assert.deepStrictEqual([upstream.runs(), upstream.interrupted()], [1, 0])
      })
    )

    promise("R15: the lookup is interrupted when nobody waits for it, and the next search starts anew", (query) =>
      Effect.gen(function* () {
        const cache = yield* ResultCache
        const upstream = yield* makeUpstream(settle)
        const get = searchCache(cache, searchRequest({ query }), upstream.lookup)
        const waiting = yield* Effect.forEach([1, 2], () => Effect.forkChild(get))
        yield* settle
        yield* Fiber.interruptAll(waiting)
        yield* settle
        assert.strictEqual(upstream.interrupted(), 1)
        const next = yield* Effect.forkChild(get)
        yield* settle
        yield* upstream.answer(2)
        assert.strictEqual((yield* Fiber.join(next)).provider, "run 2")
      })
    )

    promise("R15: a lookup that cannot be cancelled holds nobody back who has stopped waiting", (query) =>
      Effect.gen(function* () {
        const cache = yield* ResultCache
        const upstream = yield* makeUpstream(settle)
        const stubborn = searchCache(cache, searchRequest({ query }), Effect.uninterruptible(upstream.lookup))
        const impatient = yield* Effect.forkChild(Effect.timeoutOption(stubborn, "5 seconds"))
        yield* settle
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual(yield* Fiber.join(impatient), Option.none())
        const next = yield* Effect.forkChild(searchCache(cache, searchRequest({ query }), upstream.lookup))
        // A busy machine may need more than one turn.
        for (let turn = 0; turn < 100 && upstream.runs() < 2; turn++) yield* settle
        assert.strictEqual(upstream.runs(), 2)
        yield* upstream.answer(1)
        yield* upstream.answer(2)
        assert.strictEqual((yield* Fiber.join(next)).provider, "run 2")
      })
    )

    promise("a defect in the lookup is one for everybody who waits for it", (query) =>
      Effect.gen(function* () {
        const cache = yield* ResultCache
        const upstream = yield* makeUpstream(settle)
        const get = searchCache(cache, searchRequest({ query }), upstream.lookup)
        const waiting = yield* Effect.forEach([1, 2], () => Effect.forkChild(get))
        yield* settle
        yield* upstream.defect(1)
        const exits = yield* Effect.forEach(waiting, Fiber.await)
        for (const exit of exits) {
          assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause) && !Cause.hasFails(exit.cause))
        }
        assert.strictEqual(upstream.runs(), 1)
      })
    )
  })
}
