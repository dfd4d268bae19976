import { randomBytes } from "node:crypto"
import { Effect } from "effect"
import { makeSecret } from "../../src/domain/keys/ApiKey.ts"
import type { Scenario } from "../Scenario.ts"
import { type Measurement, median, runsOf } from "../support/Measurement.ts"
import { alternate } from "../support/Runs.ts"
import { all, distinctSearches, ofTheFloor } from "./search.ts"

/** A well-formed key that does not exist, so it is looked up before the 401. */
const strangers = 1000
/** Maximum CPU time of an error response, as a share of a successful request's. */
const atMost = 0.6

export const refusals: Scenario = {
  name: "refusals",
  measures: "floods of requests that are refused with 401, 402 and 429, beside searches that are served",
  run: (stage) =>
    Effect.gen(function* () {
      const subjects = yield* all(stage)
      const unknown = Array.from({ length: strangers }, () => makeSecret("live", randomBytes(32)))
      const floods: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
        ["served", stage.secrets],
        ["401", unknown],
        ["402", [stage.refused.withoutCredits]],
        ["429", [stage.refused.slow]]
      ]
      // Uses up the slow key's rate limit before the measurement.
      const spent = { secrets: [stage.refused.slow], query: "spent", distinct: false, seconds: 1 }
      for (const { urls } of subjects)
        yield* stage.load.run({ ...spent, urls, shape: { kind: "paced", perSecond: 100 } })
      const measurements: Array<Measurement> = []
      for (const [variant, secrets] of floods) {
        measurements.push(...(yield* alternate(stage, subjects, { ...distinctSearches(stage), secrets }, variant)))
      }
      const cpu = (variant: string) => median(runsOf(measurements, "quarry", variant).map((run) => run.cpu.total))
      const figures = ["401", "402", "429"].flatMap((variant) => [
        {
          name: `CPU of a ${variant}, of that of a search`,
          value: cpu(variant) / cpu("served"),
          unit: "×",
          ...(variant === "402" ? {} : { wanted: { atMost } })
        },
        ofTheFloor(measurements, variant, `CPU of a ${variant}, of the floor's`, 2)
      ])
      return { measurements, figures }
    })
}
