import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer } from "effect"
import { HttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { QuarryClient, withIdempotencyKey } from "../../../clients/typescript/src/effect/index.ts"
import { providers, TestQuarry, UpstreamError } from "../../../clients/typescript/src/effect/testing.ts"

const row = { url: "https://www.example.com/css", title: "CSS", snippet: "Grid" }

const never = providers(() => Effect.never)

const one = providers(() => Effect.succeed([row, row]))

const search = (query: string) => Effect.flatMap(QuarryClient, (quarry) => quarry.search.query({ query: { query } }))

describe("@quarry/client/testing/effect", () => {
  it.effect("a search is answered, ranked and charged, over HTTP's own encoding", () =>
    Effect.gen(function* () {
      const { account, charged } = yield* TestQuarry
      const { results } = yield* search(" css  grid ")
      assert.deepStrictEqual(
        results.organic.map(({ position, title }) => [position, title]),
        [[1, "CSS"]]
      )
      assert.strictEqual((yield* account).used, 1)
      assert.strictEqual((yield* charged)[0]?.request.query, "css grid")
    }).pipe(Effect.provide(TestQuarry.layer()), Effect.provide(one))
  )

  it.effect("a provider that never answers ends the search after 15 seconds of the test's one clock", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(Effect.flip(search("css grid")))
      yield* TestClock.adjust("14999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      const error = yield* Fiber.join(fiber)
      assert.strictEqual(error._tag, "upstream_timeout")
      assert.strictEqual((yield* (yield* TestQuarry).account).used, 1)
    }).pipe(Effect.provide(TestQuarry.layer()), Effect.provide(never))
  )

  it.effect("an error has its request id, and a 429 the seconds of Retry-After", () =>
    Effect.gen(function* () {
      const quarry = yield* QuarryClient
      const [broken, response] = yield* quarry.search
        .query({ query: { query: "a", geo: "zz" }, responseMode: "decoded-and-response" })
        .pipe(Effect.catchTag("unsupported_geo", (error) => Effect.succeed([error, undefined] as const)))
      assert.isUndefined(response)
      assert.match(String("requestId" in broken && broken.requestId), /^[0-9a-f-]{36}$/)
      for (let call = 0; call < 60; call++) yield* Effect.exit(quarry.account.me({}))
      yield* TestClock.adjust("20 seconds")
      const limited = yield* Effect.flip(quarry.account.me({}))
      if (limited._tag !== "rate_limited") return assert.fail(limited._tag)
      assert.strictEqual(limited.retryAfterSeconds, 40)
      assert.match(limited.requestId ?? "", /^[0-9a-f-]{36}$/)
      yield* TestClock.adjust(Duration.seconds(limited.retryAfterSeconds ?? 0))
      assert.strictEqual((yield* quarry.account.me({})).plan, "trial")
    }).pipe(Effect.provide(TestQuarry.layer()), Effect.provide(one))
  )

  it.effect("R44: withIdempotencyKey makes a retry free", () =>
    Effect.gen(function* () {
      const first = yield* search("css grid").pipe(withIdempotencyKey("nightly-1"))
      const again = yield* withIdempotencyKey(search("css grid"), "nightly-1")
      assert.strictEqual(again.id, first.id)
      assert.strictEqual((yield* (yield* TestQuarry).account).used, 1)
    }).pipe(Effect.provide(TestQuarry.layer({ cacheTtl: 0 })), Effect.provide(one))
  )

  it.effect("an account without credits is quota_exceeded, until the test grants some", () =>
    Effect.gen(function* () {
      const { grant } = yield* TestQuarry
      const error = yield* Effect.flip(search("css grid"))
      if (error._tag !== "quota_exceeded") return assert.fail(error._tag)
      assert.deepInclude(error, { plan: "custom", quota: 0, balance: 0 })
      yield* grant(1)
      yield* search("css grid")
    }).pipe(Effect.provide(TestQuarry.layer({ plan: "custom", quota: 0 })), Effect.provide(one))
  )

  it.effect("a batch whose providers fail for one row", () =>
    Effect.gen(function* () {
      const quarry = yield* QuarryClient
      const batch = yield* quarry.search.bulk({ payload: { queries: ["a", "fail"] } })
      assert.deepInclude(batch, { succeeded: 1, failed: 1 })
    }).pipe(
      Effect.provide(TestQuarry.layer()),
      Effect.provide(
        providers(({ query }) =>
          query === "fail" ? Effect.fail(new UpstreamError({ message: "down" })) : Effect.succeed([row])
        )
      )
    )
  )

  it.effect("a client of the test's own sends through httpClient, with another key", () =>
    Effect.gen(function* () {
      const { baseUrl, httpClient } = yield* TestQuarry
      const other = yield* QuarryClient.make({ baseUrl, apiKey: "sk_live_x" }).pipe(
        Effect.provideService(HttpClient.HttpClient, httpClient)
      )
      assert.strictEqual((yield* Effect.flip(other.account.me({})))._tag, "unauthorized")
    }).pipe(Effect.provide(TestQuarry.layer()), Effect.provide(one))
  )

  it.effect("two layers are two services", () =>
    Effect.gen(function* () {
      const used = Effect.flatMap(TestQuarry, ({ account }) => Effect.map(account, (allowance) => allowance.used))
      const inAnother = Effect.andThen(search("a"), used).pipe(Effect.provide(Layer.fresh(TestQuarry.layer())))
      assert.strictEqual(yield* inAnother, 1)
      assert.strictEqual(yield* inAnother, 1)
    }).pipe(Effect.provide(one))
  )
})
