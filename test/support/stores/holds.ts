import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Scenario } from "../../../torture/Scenario.ts"
import { run } from "../../../torture/torture.ts"

const timeout = 900_000

/** A test that runs a torture scenario in its short form without violations. */
export const holds = (scenario: Scenario, rounds: number) =>
  it.live(
    scenario.promise,
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* run(scenario, { seed: "1", rounds, short: true, first: false }), [])
      }),
    timeout
  )
