import { assert, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import { sampleOf } from "../../../scripts/mutations/sample.ts"
import { mutations, tryMutation } from "../../../torture/mutations.ts"
import { cost } from "../../../torture/scenarios/cost.ts"
import { run } from "../../../torture/torture.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

/** A loaded machine takes several times as long as the minute of CPU time that the requests need. */
const timeout = 1_800_000

/** Three rounds have the same seeds in each run, and two have new seeds. */
const rounds = 5

/** Each run tries one mistake. `npm run torture -- --mutations` tries all of them. */
const seed = Date.now() % 100_000

describeWithPostgres("the cost of requests", () => {
  it.live(
    cost.promise,
    () =>
      Effect.gen(function* () {
        const first = yield* Random.nextIntBetween(1_000, 1_000_000_000)
        const violations = yield* run(cost, { seed: String(first), rounds, short: true, first: false })
        // A retry has other seeds and may pass, so the violations of this run must be shown in any case.
        for (const violation of violations) process.stderr.write(`cost, new seeds from ${first}: ${violation}\n`)
        assert.deepStrictEqual(violations, [])
      }),
    timeout
  )

  it.each(sampleOf(mutations, 1, seed))("is found too high if $name", { timeout }, async (mutation) => {
    const { output, violation } = await tryMutation(mutation)
    assert.isDefined(violation, output)
  })
})
