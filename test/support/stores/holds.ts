import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Scenario } from "../../torture/Scenario.ts"
import { run } from "../../torture/torture.ts"

const timeout = 900_000

/** A test in which a scenario of `npm run torture` runs in its short form and breaks no promise. */
export const holds = (scenario: Scenario, rounds: number) =>
  it.live(
    scenario.promise,
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* run(scenario, { seed: "1", rounds, short: true, first: false }), [])
      }),
    timeout
  )
