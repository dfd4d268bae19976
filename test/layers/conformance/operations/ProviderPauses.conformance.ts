import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { ProviderPauses } from "../../../../src/services/providers/ProviderPauses.ts"

const names = (all: ReadonlyArray<{ readonly provider: string; readonly engine: string | undefined }>) =>
  all.map(({ engine, provider }) => `${provider}/${engine ?? "*"}`)

/** What any store of pauses promises. */
export const providerPausesConformance = (it: Vitest.MethodsNonLive<ProviderPauses>): void => {
  it.effect("a pause is there once, with the latest reason and the time when it began", () =>
    Effect.gen(function* () {
      const pauses = yield* ProviderPauses
      const first = yield* pauses.pause({ provider: "once", engine: undefined, by: "ada", reason: "captchas" })
      const second = yield* pauses.pause({ provider: "once", engine: undefined, by: "grace", reason: "still captchas" })
      assert.deepStrictEqual(second, { ...first, by: "grace", reason: "still captchas" })
      const found = (yield* pauses.all).filter(({ provider }) => provider === "once")
      assert.deepStrictEqual(found, [second])
    })
  )

  it.effect("resuming an engine keeps the other pauses, resuming the provider ends all of them", () =>
    Effect.gen(function* () {
      const pauses = yield* ProviderPauses
      for (const engine of [undefined, "bing", "google"]) {
        yield* pauses.pause({ provider: "several", engine, by: "ada", reason: "test" })
      }
      const left = Effect.map(pauses.all, (all) => names(all.filter(({ provider }) => provider === "several")))
      assert.deepStrictEqual(names(yield* pauses.resume({ provider: "several", engine: "bing" })), ["several/bing"])
      assert.deepStrictEqual(yield* left, ["several/*", "several/google"])
      assert.strictEqual((yield* pauses.resume({ provider: "several", engine: undefined })).length, 2)
      assert.deepStrictEqual(yield* left, [])
      assert.deepStrictEqual(yield* pauses.resume({ provider: "several", engine: undefined }), [])
    })
  )
}
