import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Duration, Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { targets } from "../../src/domain/Target.ts"
import { Limits } from "../../src/services/Limits.ts"
import { type Provider, Refusal, type RefusalReason } from "../../src/services/Provider.ts"
import { ProviderStates } from "../../src/services/ProviderStates.ts"
import { Providers, type ProviderTable } from "../../src/services/Providers.ts"
import { searchRequest } from "../support/requests.ts"

const row = { url: "https://example.test/", title: "T", snippet: "" }

const answers = (name: string, rows = [row]): Provider => ({ name, search: () => Effect.succeed(rows) })

const refuses = (name: string, reason: RefusalReason = "blocked"): Provider => ({
  name,
  search: () => Effect.fail(new Refusal({ reason, message: "no" }))
})

const hangs = (name: string): Provider => ({ name, search: () => Effect.never })

/** `provider`, but slower. */
const delayed = (ms: number, provider: Provider): Provider => ({
  name: provider.name,
  search: (request) => Effect.delay(provider.search(request), Duration.millis(ms))
})

const tableOf = (alpha: ReadonlyArray<Provider>): ProviderTable => ({
  alpha_search: alpha,
  beta_search: [answers("beta")],
  gamma_search: [],
  delta_search: [],
  epsilon_search: [],
  zeta_search: []
})

/** How a search ends over these providers, and when. */
const search = (alpha: ReadonlyArray<Provider>, fields?: Parameters<typeof searchRequest>[0]) =>
  Effect.gen(function* () {
    const providers = yield* Providers
    const startedAt = yield* Clock.currentTimeMillis
    const fiber = yield* providers.search(searchRequest(fields)).pipe(
      Effect.exit,
      Effect.flatMap((exit) =>
        Effect.map(Clock.currentTimeMillis, (endedAt) => ({ exit, afterMs: endedAt - startedAt }))
      ),
      Effect.forkChild
    )
    yield* TestClock.adjust("1 minute")
    return yield* Fiber.join(fiber)
  }).pipe(Effect.provide(Layer.provide(Providers.layer(tableOf(alpha)), ProviderStates.layer)))

const found = (alpha: ReadonlyArray<Provider>, fields?: Parameters<typeof searchRequest>[0]) =>
  Effect.map(search(alpha, fields), ({ afterMs, exit }) => {
    if (Exit.isFailure(exit)) throw new Error(`it failed: ${Cause.pretty(exit.cause)}`)
    return { ...exit.value, afterMs }
  })

const failed = (alpha: ReadonlyArray<Provider>, fields?: Parameters<typeof searchRequest>[0]) =>
  Effect.gen(function* () {
    const { afterMs, exit } = yield* search(alpha, fields)
    const error = yield* Effect.flip(exit).pipe(Effect.orDie)
    return { code: error._tag, message: error.message, afterMs }
  })

describe("Providers", () => {
  it.effect("asks the target's own providers in order and names the one that answered", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* found([answers("first"), answers("second")]), {
        provider: "first",
        rows: [row],
        afterMs: 0
      })
      assert.strictEqual((yield* found([answers("first")], { target: "beta_search" })).provider, "beta")
    })
  )

  const reasons: ReadonlyArray<RefusalReason> = [
    "blocked",
    "quota",
    "rate_limited",
    "unauthorized",
    "unreachable",
    "malformed",
    "timeout",
    "unserved",
    "busy"
  ]
  for (const reason of reasons) {
    it.effect(`R14: goes on to the next provider when one refuses as ${reason}`, () =>
      Effect.gen(function* () {
        const { provider } = yield* found([refuses("first", reason), refuses("second"), answers("third")])
        assert.strictEqual(provider, "third")
      })
    )
  }

  it.effect("R14: no rows are an answer, and no other provider is asked", () =>
    Effect.gen(function* () {
      const { provider, rows } = yield* found([answers("first", []), answers("second")])
      assert.deepStrictEqual([provider, rows], ["first", []])
    })
  )

  it.effect("R14: upstream_error as soon as all have refused", () =>
    Effect.gen(function* () {
      const { afterMs, code } = yield* failed([refuses("first"), delayed(4_000, refuses("second", "timeout"))])
      assert.deepStrictEqual([code, afterMs], ["upstream_error", 4_000])
    })
  )

  it.effect("upstream_error for a target without providers", () =>
    Effect.gen(function* () {
      const { afterMs, code } = yield* failed([], { target: "gamma_search" })
      assert.deepStrictEqual([code, afterMs], ["upstream_error", 0])
    })
  )

  it.effect("a provider that hangs leaves its share of the time to the next", () =>
    Effect.gen(function* () {
      const { afterMs, provider } = yield* found([hangs("first"), delayed(7_000, answers("second"))])
      assert.deepStrictEqual([provider, afterMs], ["second", 14_500])
    })
  )

  it.effect("what a quick refusal leaves over goes to those after it", () =>
    Effect.gen(function* () {
      const { afterMs, provider } = yield* found([refuses("first"), delayed(14_000, answers("second"))])
      assert.deepStrictEqual([provider, afterMs], ["second", 14_000])
    })
  )

  for (const [what, providers] of [
    ["one provider", [hangs("first")]],
    ["three", [hangs("first"), hangs("second"), hangs("third")]],
    ["seven, which do not divide the time evenly", Array.from({ length: 7 }, (_, index) => hangs(`${index}`))],
    ["the last after one that refused", [delayed(100, refuses("first")), hangs("second")]]
  ] as const) {
    it.effect(`upstream_timeout after exactly 15 s when nothing comes of ${what}`, () =>
      Effect.gen(function* () {
        const { afterMs, code, message } = yield* failed(providers)
        assert.deepStrictEqual([code, afterMs], ["upstream_timeout", 15_000])
        assert.include(message, "15s")
      })
    )
  }

  it.effect("a hang before a refusal is upstream_error: the last word was the provider's", () =>
    Effect.gen(function* () {
      const { afterMs, code } = yield* failed([hangs("first"), refuses("second")])
      assert.deepStrictEqual([code, afterMs], ["upstream_error", 7_500])
    })
  )

  it.effect("an attempt whose share ran out is interrupted", () =>
    Effect.gen(function* () {
      let interrupted = false
      const slow: Provider = {
        name: "slow",
        search: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => (interrupted = true)))
      }
      yield* found([slow, answers("second")])
      assert.isTrue(interrupted)
    })
  )

  it.effect("a bug in a provider stays a defect and is not failed over", () =>
    Effect.gen(function* () {
      const { exit } = yield* search([{ name: "broken", search: () => Effect.die("a bug") }, answers("second")])
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause) && !Cause.hasFails(exit.cause))
    })
  )

  it.effect("the operator's time budget counts", () =>
    Effect.gen(function* () {
      const { afterMs, code } = yield* failed([hangs("first")]).pipe(
        Effect.provideService(Limits, { providerTimeout: Duration.seconds(3), bulkBudget: Duration.seconds(60) })
      )
      assert.deepStrictEqual([code, afterMs], ["upstream_timeout", 3_000])
    })
  )

  it("every target has a place in the table", () => assert.sameMembers(Object.keys(tableOf([])), [...targets]))
})
