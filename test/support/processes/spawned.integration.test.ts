import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { spawned } from "./Spawned.ts"

describe("a spawned process", () => {
  it.live("has its log shown where the test fails, and nowhere else", () =>
    Effect.gen(function* () {
      const shown: Array<string> = []
      yield* Effect.acquireRelease(
        Effect.sync(() => vi.spyOn(console, "error").mockImplementation((text) => void shown.push(text))),
        (spy) => Effect.sync(() => spy.mockRestore())
      )
      const version = Effect.andThen(spawned("src/cli.ts", ["--version"], {}), ({ ended }) => ended)
      yield* Effect.scoped(version)
      assert.deepStrictEqual(shown, [])
      yield* Effect.flip(Effect.scoped(Effect.andThen(version, Effect.fail("the test"))))
      assert.lengthOf(shown, 1)
      assert.match(shown[0] ?? "", /^src\/cli\.ts --version ended with 0:\nquarry v?\d/)
    })
  )
})
