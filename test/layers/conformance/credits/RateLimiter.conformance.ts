import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { RateLimiter, windowMs } from "../../../../src/services/credits/RateLimiter.ts"

/** What every layer of the rate limiter promises (R27), on a store whose time the test moves. */
export const rateLimiterConformance = (
  name: string,
  options: {
    readonly layer: Layer.Layer<RateLimiter>
    /** Lets that much time pass on the store's clock. */
    readonly elapse: (ms: number) => Effect.Effect<void>
    /** The store's Unix time in milliseconds. */
    readonly now: Effect.Effect<number>
    /** How much time may pass on the store's clock beside what the test lets pass. */
    readonly slackMs: number
  }
): void => {
  const { elapse, now, slackMs } = options
  let tests = 0
  /** A credential of its own for each test: a shared store remembers those of others. */
  const promise = (title: string, body: (credential: string) => Effect.Effect<void, never, RateLimiter>) =>
    it.effect(title, () => body(`conformance-${name}-${tests++}`).pipe(Effect.provide(options.layer)))
  const hit = (credential: string, limit: number) =>
    Effect.flatMap(RateLimiter, (limiter) => limiter.hit({ credential, limit }))
  const hits = (credential: string, limit: number, count: number) =>
    Effect.forEach(Array.from({ length: count }), () => hit(credential, limit))

  describe(`RateLimiter: ${name}`, () => {
    promise("R27: admits `limit` requests and refuses the next", (credential) =>
      Effect.gen(function* () {
        const decisions = yield* hits(credential, 3, 5)
        assert.deepStrictEqual(
          decisions.map(({ admitted, limit, remaining }) => ({ admitted, limit, remaining })),
          [
            { admitted: true, limit: 3, remaining: 2 },
            { admitted: true, limit: 3, remaining: 1 },
            { admitted: true, limit: 3, remaining: 0 },
            { admitted: false, limit: 3, remaining: 0 },
            { admitted: false, limit: 3, remaining: 0 }
          ]
        )
      })
    )

    promise("R27: the window rolls: each request makes room 60 s after it was counted, not all at once", (credential) =>
      Effect.gen(function* () {
        yield* hit(credential, 2)
        yield* elapse(30_000)
        yield* hit(credential, 2)
        yield* elapse(30_000)
        assert.isTrue((yield* hit(credential, 2)).admitted)
        assert.isFalse((yield* hit(credential, 2)).admitted)
        yield* elapse(30_000)
        assert.isTrue((yield* hit(credential, 2)).admitted)
      })
    )

    promise("R27: a request counts for the whole 60 s and not a millisecond longer", (credential) =>
      Effect.gen(function* () {
        yield* hit(credential, 1)
        yield* elapse(windowMs - 1 - slackMs)
        assert.isFalse((yield* hit(credential, 1)).admitted)
        yield* elapse(1 + slackMs)
        assert.isTrue((yield* hit(credential, 1)).admitted)
      })
    )

    promise("R27: refused requests are not counted", (credential) =>
      Effect.gen(function* () {
        yield* hit(credential, 1)
        yield* elapse(windowMs / 2)
        yield* hits(credential, 1, 10)
        yield* elapse(windowMs / 2)
        assert.isTrue((yield* hit(credential, 1)).admitted)
      })
    )

    promise("R27: Reset and Retry-After say when the oldest counted request leaves the window", (credential) =>
      Effect.gen(function* () {
        /** That `seconds` is `ms` in whole seconds, or less by the slack. */
        const assertSeconds = (seconds: number, ms: number) => {
          assert.isAtMost(seconds, Math.ceil(ms / 1000))
          assert.isAtLeast(seconds, Math.ceil((ms - slackMs) / 1000))
        }
        yield* hit(credential, 2)
        yield* elapse(10_250)
        const asked = yield* now
        const second = yield* hit(credential, 2)
        assertSeconds(second.resetAtSeconds, asked + 49_750)
        assertSeconds(second.retryAfterSeconds, 49_750)
        yield* elapse(49_749 - slackMs)
        const askedAgain = yield* now
        const refused = yield* hit(credential, 2)
        assert.isFalse(refused.admitted)
        assertSeconds(refused.resetAtSeconds, askedAgain + 1 + slackMs)
        assertSeconds(refused.retryAfterSeconds, 1 + slackMs)
      })
    )

    promise("one credential's requests do not count for another", (credential) =>
      Effect.gen(function* () {
        yield* hits(credential, 1, 2)
        assert.isTrue((yield* hit(`${credential}-other`, 1)).admitted)
      })
    )

    promise("a lowered limit applies at once, and a raised limit makes room at once", (credential) =>
      Effect.gen(function* () {
        yield* hits(credential, 20, 20)
        const lowered = yield* hit(credential, 5)
        assert.deepStrictEqual([lowered.admitted, lowered.remaining], [false, 0])
        const raised = yield* hit(credential, 40)
        assert.deepStrictEqual([raised.admitted, raised.remaining], [true, 19])
      })
    )

    promise("admits exactly `limit` of requests that arrive together", (credential) =>
      Effect.gen(function* () {
        const decisions = yield* Effect.all(
          Array.from({ length: 50 }, () => hit(credential, 20)),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(decisions.filter(({ admitted }) => admitted).length, 20)
      })
    )
  })
}
