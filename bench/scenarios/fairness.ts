import { Effect, Fiber } from "effect"
import type { Scenario } from "../Scenario.ts"
import * as Load from "../support/Load.ts"
import { type Measurement, median, runsOf } from "../support/Measurement.ts"
import { alternate, measure, type Work } from "../support/Runs.ts"
import type { Stage } from "../support/Stage.ts"
import { all } from "./search.ts"

/** Requests in flight of the busy account. */
const crowd = 1000
const atMost = 3

const alone = "alone"
const crowded = `beside ${crowd}`

/** Searches of one account, none of them cached. */
const searchesOf = ({ secrets }: Stage, account: number, connections: number): Work => ({
  secrets: secrets.slice(account, account + 1),
  query: `fairness of account ${account}`,
  distinct: true,
  shape: { kind: "closed", connections }
})

export const fairness: Scenario = {
  name: "fairness",
  measures: `an account with one search at a time, alone and beside one with ${crowd} in flight, the stub at 0 ms`,
  run: (stage) =>
    Effect.gen(function* () {
      const subjects = yield* all(stage)
      const other = yield* Load.start
      const measurements: Array<Measurement> = [...(yield* alternate(stage, subjects, searchesOf(stage, 1, 1), alone))]
      const { pairs, seconds } = stage.scale
      for (let pair = 1; pair <= pairs; pair++) {
        for (const subject of subjects) {
          // Starts before the other load and ends after it.
          const work = { ...searchesOf(stage, 0, crowd), urls: subject.urls, seconds: seconds + 1 }
          const flood = yield* Effect.forkChild(other.run(work))
          yield* Effect.sleep("500 millis")
          measurements.push(yield* measure(stage, subject, searchesOf(stage, 1, 1), { variant: crowded, pair }))
          yield* Fiber.join(flood)
        }
      }
      const figures = subjects.map(({ name }) => {
        const of = (variant: string) =>
          median(runsOf(measurements, name, variant).map(({ latencyMs }) => latencyMs.p99))
        const wanted = name === "quarry" ? { wanted: { atMost } } : {}
        return {
          name: `${name}: p99 ${crowded}, of that ${alone}`,
          value: of(crowded) / of(alone),
          unit: "×",
          ...wanted
        }
      })
      return { measurements, figures }
    })
}
