import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Duration, Effect, Exit, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { toPublicReason } from "../../../src/domain/log/LogEntry.ts"
import { Refusal, type RefusalReason, refusalReasons } from "../../../src/domain/providers/Refusal.ts"
import { targets } from "../../../src/domain/search/Target.ts"
import { Attempts } from "../../../src/services/providers/Attempts.ts"
import { Limits } from "../../../src/services/providers/Limits.ts"
import type { Provider } from "../../../src/services/providers/Provider.ts"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import { Providers, type ProviderTable } from "../../../src/services/providers/Providers.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { searchRequest } from "../../support/api/requests.ts"
import { advance, searchProviders } from "../../support/Time.ts"

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

const layerOf = (table: ProviderTable, limits: Layer.Layer<Limits> = StandardSettings.layer) =>
  Providers.layer(table).pipe(Layer.provideMerge(ProviderStates.layer), Layer.provideMerge(limits))

/** The outcome of a search over these providers, and its time. */
const search = (
  alpha: ReadonlyArray<Provider>,
  fields?: Parameters<typeof searchRequest>[0],
  limits: Layer.Layer<Limits> = StandardSettings.layer
) =>
  Effect.gen(function* () {
    const startedAt = yield* Clock.currentTimeMillis
    const fiber = yield* searchProviders(searchRequest(fields)).pipe(
      Effect.exit,
      Effect.flatMap((exit) =>
        Effect.map(Clock.currentTimeMillis, (endedAt) => ({ exit, afterMs: endedAt - startedAt }))
      ),
      Effect.forkChild
    )
    yield* TestClock.adjust("1 minute")
    return yield* Fiber.join(fiber)
  }).pipe(Effect.provide(layerOf(tableOf(alpha), limits)))

const found = (alpha: ReadonlyArray<Provider>, fields?: Parameters<typeof searchRequest>[0]) =>
  Effect.map(search(alpha, fields), ({ afterMs, exit }) => {
    if (Exit.isFailure(exit)) throw new Error(`it failed: ${Cause.pretty(exit.cause)}`)
    const { provider, ranking } = exit.value
    return { provider, urls: ranking.results.map(({ url }) => url), afterMs }
  })

const failed = (...searched: Parameters<typeof search>) =>
  Effect.gen(function* () {
    const { afterMs, exit } = yield* search(...searched)
    const error = yield* Effect.flip(exit).pipe(Effect.orDie)
    return { code: error._tag, message: error.message, afterMs }
  })

describe("the targets that are served", () => {
  const indexed = (isEmpty: boolean): Provider => ({ ...answers("index"), isEmpty: () => Effect.succeed(isEmpty) })

  const served = (alpha: ReadonlyArray<Provider>) =>
    Effect.flatMap(Providers, ({ serves }) => serves("alpha_search")).pipe(Effect.provide(layerOf(tableOf(alpha))))

  it.effect("are those with a provider that has something to search in", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* served([answers("a")]))
      assert.isTrue(yield* served([indexed(false)]))
      assert.isTrue(yield* served([indexed(true), answers("a")]))
      assert.isFalse(yield* served([indexed(true)]))
      assert.isFalse(yield* served([]))
    })
  )
})

describe("Providers", () => {
  it.effect("asks the target's own providers in order and names the provider that answered", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* found([answers("first"), answers("second")]), {
        provider: "first",
        urls: [row.url],
        afterMs: 0
      })
      assert.strictEqual((yield* found([answers("first")], { target: "beta_search" })).provider, "beta")
    })
  )

  for (const reason of refusalReasons) {
    it.effect(`R14: goes on to the next provider when one refuses as ${reason}`, () =>
      Effect.gen(function* () {
        const { provider } = yield* found([refuses("first", reason), refuses("second"), answers("third")])
        assert.strictEqual(provider, "third")
      })
    )
  }

  it.effect("R14: no rows are an answer, and no other provider is asked", () =>
    Effect.gen(function* () {
      const { provider, urls } = yield* found([answers("first", []), answers("second")])
      assert.deepStrictEqual([provider, urls], ["first", []])
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
    ["the last after a refusal", [delayed(100, refuses("first")), hangs("second")]]
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

  it.effect("R14: a defect in an attempt is logged once as an error with its provider, and the next one answers", () =>
    Effect.gen(function* () {
      const errors: Array<string> = []
      const logger = Logger.make(({ logLevel, message }) => {
        if (logLevel === "Error") errors.push(String(message))
      })
      for (const broken of [
        () => Effect.die(new RangeError("too many rows")),
        () => {
          throw new RangeError("too deep")
        }
      ]) {
        errors.length = 0
        const { exit } = yield* search([{ name: "broken", search: broken }, answers("second")]).pipe(
          Effect.provide(Logger.layer([logger]))
        )
        assert.strictEqual(Exit.isSuccess(exit) && exit.value.provider, "second")
        assert.strictEqual(errors.length, 1)
        assert.include(errors[0], "broken")
      }
    })
  )

  it.effect("a defect in the only attempt is upstream_error", () =>
    Effect.gen(function* () {
      const { code } = yield* failed([{ name: "broken", search: () => Effect.die("a bug") }])
      assert.strictEqual(code, "upstream_error")
    })
  )

  it.effect("an interruption in an attempt stays one", () =>
    Effect.gen(function* () {
      const { exit } = yield* search([{ name: "stopped", search: () => Effect.interrupt }, answers("second")])
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
    })
  )

  it.effect("the operator's time budget counts", () =>
    Effect.gen(function* () {
      const limits = Layer.succeed(Limits, { providerTimeout: Duration.seconds(3), bulkBudget: Duration.seconds(60) })
      const { afterMs, code } = yield* failed([hangs("first")], {}, limits)
      assert.deepStrictEqual([code, afterMs], ["upstream_timeout", 3_000])
    })
  )

  /** Many searches one after the other over the same providers; `between` runs before each. */
  const searches = (
    alpha: ReadonlyArray<Provider>,
    times: number,
    options?: { readonly hedge?: boolean; readonly between?: Effect.Effect<void> }
  ) =>
    Effect.gen(function* () {
      const outcomes: Array<string> = []
      for (let time = 0; time < times; time++) {
        yield* options?.between ?? Effect.void
        const startedAt = yield* Clock.currentTimeMillis
        const fiber = yield* Effect.forkChild(
          Effect.match(searchProviders(searchRequest()), {
            onSuccess: ({ provider }) => provider,
            onFailure: ({ _tag }) => _tag
          }).pipe(Effect.flatMap((what) => Effect.map(Clock.currentTimeMillis, (now) => `${what} ${now - startedAt}`)))
        )
        // Step by step, so that the next search starts soon after this one ended.
        while (fiber.pollUnsafe() === undefined) yield* advance(10)
        outcomes.push(yield* Fiber.join(fiber))
      }
      return { outcomes, states: yield* (yield* ProviderStates).all }
    }).pipe(
      Effect.provide(
        layerOf({
          ...tableOf(alpha),
          hedged: new Set(options?.hedge === true ? (["alpha_search"] as const) : [])
        })
      )
    )

  /** A provider by a script: each search takes the next step; the last step repeats. */
  const scripted = (name: string, ...steps: ReadonlyArray<RefusalReason | number | "never">) => {
    let asked = 0
    const provider: Provider = {
      name,
      search: () =>
        Effect.suspend(() => {
          const step = steps[Math.min(asked++, steps.length - 1)]
          if (step === "never") return Effect.never
          if (typeof step === "number") return Effect.delay(Effect.succeed([row]), step)
          return Effect.fail(new Refusal({ reason: step ?? "blocked", message: "no" }))
        })
    }
    return { provider, asked: () => asked }
  }

  describe("a provider that keeps failing", () => {
    it.effect("is no longer asked, costs no time, and every search is answered", () =>
      Effect.gen(function* () {
        const bad = scripted("bad", "never")
        const { outcomes, states } = yield* searches([bad.provider, answers("good")], 20)
        assert.deepStrictEqual(outcomes.slice(0, 3), Array(3).fill("good 7500"))
        // A probe after the cool-down is the only cost from then on.
        assert.deepStrictEqual(outcomes.slice(3), Array(17).fill("good 0"))
        assert.strictEqual(bad.asked(), 3)
        assert.deepInclude(states[0], { name: "bad", phase: "open", refusals: 3, answers: 0 })
        assert.strictEqual(states[0]?.lastRefusal?.reason, "timeout")
        assert.deepInclude(states[1], { name: "good", phase: "closed", answers: 20 })
      })
    )

    it.effect("leaves its share of the time to the others", () =>
      Effect.gen(function* () {
        const open = scripted("open", "quota")
        const { outcomes } = yield* searches([open.provider, delayed(14_000, answers("slow"))], 2)
        assert.deepStrictEqual(outcomes, ["slow 14000", "slow 14000"])
        assert.strictEqual(open.asked(), 1)
      })
    )

    it.effect("is probed after its cool-down, and used again when it answers", () =>
      Effect.gen(function* () {
        const bad = scripted("bad", "quota", 0)
        const { outcomes } = yield* searches([bad.provider, answers("good")], 4, { between: advance("2 minutes") })
        assert.deepStrictEqual(outcomes, ["good 0", "good 0", "good 0", "bad 0"])
      })
    )

    it.effect("is left out after defects as after malformed answers", () =>
      Effect.gen(function* () {
        let asked = 0
        const broken: Provider = {
          name: "broken",
          search: () =>
            Effect.andThen(
              Effect.sync(() => asked++),
              Effect.die("a bug")
            )
        }
        const { outcomes, states } = yield* searches([broken, answers("good")], 10)
        assert.deepStrictEqual(outcomes, Array(10).fill("good 0"))
        assert.strictEqual(asked, 5)
        assert.strictEqual(states[0]?.lastRefusal?.reason, "malformed")
      })
    )

    for (const reason of ["unreachable", "malformed", "timeout"] as const) {
      it.effect(`is asked all the same when it is the only one and was ${reason}`, () =>
        Effect.gen(function* () {
          const only = scripted("only", ...Array<RefusalReason>(9).fill(reason), 0)
          const { outcomes } = yield* searches([only.provider], 10)
          assert.strictEqual(outcomes[9], "only 0")
        })
      )
    }

    for (const reason of ["quota", "rate_limited", "unauthorized"] as const) {
      it.effect(`is left alone even when it is the only one, after ${reason}`, () =>
        Effect.gen(function* () {
          const only = scripted("only", reason, 0)
          const { outcomes } = yield* searches([only.provider], 3)
          assert.deepStrictEqual(outcomes, Array(3).fill("upstream_error 0"))
          assert.strictEqual(only.asked(), 1)
        })
      )
    }

    it.effect("a refused key is said once and loudly", () =>
      Effect.gen(function* () {
        const levels: Array<string> = []
        const logger = Logger.make(({ logLevel, message }) => {
          if (String(message).includes("will be skipped")) levels.push(logLevel)
        })
        yield* searches([scripted("bad", "unauthorized").provider, answers("good")], 5).pipe(
          Effect.provide(Logger.layer([logger]))
        )
        assert.deepStrictEqual(levels, ["Error"])
      })
    )
  })

  it.effect("a provider that cannot serve the search is not asked, and takes no share of the time", () =>
    Effect.gen(function* () {
      const small: Provider = {
        ...hangs("small"),
        capabilities: { paging: { kind: "first", maxRows: 20 }, safe: ["off"], countries: "none", languages: "none" }
      }
      const slow = delayed(14_000, answers("slow"))
      assert.strictEqual((yield* found([small, slow], { page: 3 })).provider, "slow")
      assert.strictEqual((yield* found([small, slow], { safe: "strict" })).provider, "slow")
      const { afterMs, code } = yield* failed([small], { page: 3 })
      assert.deepStrictEqual([code, afterMs], ["upstream_error", 0])
    })
  )

  describe("hedging", () => {
    const usual = Array<number>(30).fill(100)

    it.effect("asks the next provider when one takes longer than its p95; the first answer wins", () =>
      Effect.gen(function* () {
        const first = scripted("first", ...usual, 5_000)
        const second = scripted("second", 200)
        const { outcomes } = yield* searches([first.provider, second.provider], 31, { hedge: true })
        assert.deepStrictEqual(outcomes.slice(0, 30), Array(30).fill("first 100"))
        assert.strictEqual(outcomes[30], "second 300")
        assert.strictEqual(second.asked(), 1)
      })
    )

    it.effect("the slow provider may still win", () =>
      Effect.gen(function* () {
        const first = scripted("first", ...usual, 250)
        const { outcomes } = yield* searches([first.provider, scripted("second", 5_000).provider], 31, { hedge: true })
        assert.strictEqual(outcomes[30], "first 250")
      })
    )

    it.effect("the loser is interrupted; a provider that always loses is skipped", () =>
      Effect.gen(function* () {
        let interrupted = 0
        const loser: Provider = {
          name: "loser",
          search: () =>
            Effect.onInterrupt(Effect.never, () =>
              Effect.sync(() => {
                interrupted += 1
              })
            )
        }
        const { outcomes, states } = yield* searches([loser, answers("winner")], 4, { hedge: true })
        // Nothing is known of how long it takes, so it has its share of the time.
        assert.deepStrictEqual(outcomes, [...Array(3).fill("winner 7500"), "winner 0"])
        assert.deepStrictEqual([interrupted, states[0]?.refusals, states[0]?.phase], [3, 3, "open"])
      })
    )

    it.effect("a refusal is followed by the next provider at once", () =>
      Effect.gen(function* () {
        const { outcomes } = yield* searches([refuses("first"), refuses("second"), answers("third")], 1, {
          hedge: true
        })
        assert.deepStrictEqual(outcomes, ["third 0"])
      })
    )

    it.effect("ends in time, as refused or as timed out", () =>
      Effect.gen(function* () {
        const refused = yield* searches([refuses("first"), refuses("second")], 1, { hedge: true })
        assert.deepStrictEqual(refused.outcomes, ["upstream_error 0"])
        const hung = yield* searches([hangs("first"), hangs("second")], 1, { hedge: true })
        assert.deepStrictEqual(hung.outcomes, ["upstream_timeout 15000"])
      })
    )

    it.effect("without it the next provider waits", () =>
      Effect.gen(function* () {
        const first = scripted("first", ...usual, 5_000)
        const { outcomes } = yield* searches([first.provider, answers("second")], 31)
        assert.strictEqual(outcomes[30], "first 5000")
      })
    )
  })

  it("every target has a place in the table", () => assert.sameMembers(Object.keys(tableOf([])), [...targets]))
})

describe("paused providers", () => {
  const searched = (pauses: Parameters<ProviderStates["Service"]["setPauses"]>[0], alpha: ReadonlyArray<Provider>) =>
    Effect.gen(function* () {
      const states = yield* ProviderStates
      const attempts = new Attempts()
      const find = Effect.exit(searchProviders(searchRequest(), attempts))
      yield* states.setPauses(pauses)
      const during = yield* find
      const refusals = attempts.refusals(true, 0)
      yield* states.setPauses([])
      return { during, refusals, after: yield* find, states: yield* states.all }
    }).pipe(Effect.provide(layerOf(tableOf(alpha))))

  const meta = { provider: "meta", engine: undefined }

  it.effect("are skipped for the next of their target, and used again after they are resumed", () =>
    Effect.gen(function* () {
      const { after, during } = yield* searched([meta], [answers("meta/google"), answers("brave")])
      assert.strictEqual(Exit.isSuccess(during) && during.value.provider, "brave")
      assert.strictEqual(Exit.isSuccess(after) && after.value.provider, "meta/google")
    })
  )

  it.effect("may be one engine of a provider", () =>
    Effect.gen(function* () {
      const alpha = [answers("meta/google"), answers("meta/bing")]
      const { during } = yield* searched([{ provider: "meta", engine: "google" }], alpha)
      assert.strictEqual(Exit.isSuccess(during) && during.value.provider, "meta/bing")
    })
  )

  it.effect("leave a target without a provider: the search is not charged, and its log names the pause", () =>
    Effect.gen(function* () {
      const { during, refusals } = yield* searched([meta], [answers("meta/google")])
      const error = yield* Effect.orDie(Effect.flip(during))
      assert.strictEqual(error._tag, "upstream_error")
      assert.strictEqual(
        error.message,
        "No search provider was asked, because all of them are paused. Nothing was charged; use another target."
      )
      assert.isTrue(error.unsent)
      assert.deepStrictEqual(refusals, [{ provider: "meta/google", reason: "paused", ms: 0 }])
      assert.strictEqual(toPublicReason("paused"), "unavailable")
    })
  )

  it.effect("can still be checked", () =>
    Effect.gen(function* () {
      const states = yield* ProviderStates
      yield* states.setPauses([meta])
      const [check] = yield* states.check(searchRequest(), 1_000)
      assert.strictEqual(check?.rows, 1)
      assert.deepInclude(check?.state, { isPaused: true, recent: { calls: 1, answers: 1 } })
    }).pipe(Effect.provide(layerOf(tableOf([answers("meta/google")]))))
  )
})
