import { Effect } from "effect"
import type { Scenario } from "../Scenario.ts"
import { type Measurement, median, runsOf } from "../support/Measurement.ts"
import { alternate, type Work } from "../support/Runs.ts"
import { all } from "./search.ts"

const perSecond = 100
/** Maximum latency in addition to the stub's, in milliseconds. */
const wanted = { p50: 2.5, p99: 10 } as const

export const latency: Scenario = {
  name: "latency",
  measures: `${perSecond} searches a second at an even pace, asked of the stub itself and of all sides`,
  run: (stage) =>
    Effect.gen(function* () {
      const stub = { name: "stub", urls: [stage.ground.stubUrl], pids: [] }
      const subjects = [stub, ...(yield* all(stage))]
      const measurements: Array<Measurement> = []
      const variants = [0, 200].map((waitMs) => [`${waitMs} ms`, waitMs] as const)
      for (const [variant, waitMs] of variants) {
        const work: Work = {
          secrets: stage.secrets,
          query: `what people look for wait${waitMs}`,
          distinct: true,
          shape: { kind: "paced", perSecond }
        }
        measurements.push(...(yield* alternate(stage, subjects, work, variant)))
      }
      const added = (subject: string, variant: string, percentile: "p50" | "p99") => {
        const of = (name: string) => median(runsOf(measurements, name, variant).map((run) => run.latencyMs[percentile]))
        return of(subject) - of("stub")
      }
      const figures = variants.flatMap(([variant]) =>
        (["p50", "p99"] as const).flatMap((percentile) =>
          ["quarry", "baseline", "floor"].map((subject) => ({
            name: `${subject} adds to ${percentile} of ${variant}`,
            value: added(subject, variant, percentile),
            unit: "ms",
            ...(subject === "quarry" ? { wanted: { atMost: wanted[percentile] } } : {})
          }))
        )
      )
      return { measurements, figures }
    })
}
