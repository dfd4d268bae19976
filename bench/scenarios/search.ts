import { Effect } from "effect"
import type { Scenario } from "../Scenario.ts"
import { type Figure, type Measurement, median, ratios, runsOf } from "../support/Measurement.ts"
import { alternate, measure, type Work } from "../support/Runs.ts"
import type { Stage } from "../support/Stage.ts"

/** Searches that are never cached, spread over all accounts. */
export const distinctSearches = ({ secrets }: Stage, connections = 64): Work => ({
  secrets,
  query: "what people look for",
  distinct: true,
  shape: { kind: "closed", connections }
})

export const all = (stage: Stage) => Effect.all([stage.quarry, stage.baseline, stage.floor])

/** Quarry's CPU time compared with the floor's, round by round. */
export const ofTheFloor = (
  measurements: ReadonlyArray<Measurement>,
  variant: string,
  name: string,
  atMost: number
): Figure => ({
  name,
  value: median(ratios(measurements, variant, ["quarry", "floor"], ({ cpu }) => cpu.total)),
  unit: "×",
  wanted: { atMost }
})

/** The same for several kinds of work, one after the other. */
const variants = Effect.fnUntraced(function* (stage: Stage, works: ReadonlyArray<readonly [string, Work]>) {
  const subjects = yield* all(stage)
  const measurements: Array<Measurement> = []
  for (const [variant, work] of works) measurements.push(...(yield* alternate(stage, subjects, work, variant)))
  return { measurements }
})

export const single: Scenario = {
  name: "single",
  measures: "a search, the stub at 0 ms, 64 connections, all accounts",
  run: (stage) =>
    Effect.gen(function* () {
      const subjects = [...(yield* all(stage)), yield* stage.baselineStatements]
      const measurements = yield* alternate(stage, subjects, distinctSearches(stage))
      const share = (other: string, figure: (measurement: Measurement) => number) =>
        median(ratios(measurements, "", ["quarry", other], figure))
      const figures = [
        {
          name: "searches a second, of the baseline's",
          value: share("baseline", ({ perSecond }) => perSecond),
          unit: "×",
          wanted: { atLeast: 2.3 }
        },
        {
          name: "CPU for a search, of the baseline's",
          value: share("baseline", ({ cpu }) => cpu.total),
          unit: "×",
          wanted: { atMost: 0.42 }
        },
        {
          name: "p99, of the baseline's",
          value: share("baseline", ({ latencyMs }) => latencyMs.p99),
          unit: "×",
          wanted: { atMost: 0.7 }
        },
        ofTheFloor(measurements, "", "CPU for a search, of the floor's", 1.5),
        {
          name: "CPU of the process alone for a search, of the floor's",
          value: share("floor", ({ cpu }) => cpu.service),
          unit: "×"
        }
      ]
      return { measurements, figures }
    })
}

export const keyed: Scenario = {
  name: "keyed",
  measures: "a search with an Idempotency-Key and one without, in turn, the stub at 0 ms, 64 connections, all accounts",
  run: (stage) =>
    Effect.gen(function* () {
      const subject = yield* stage.quarry
      const work = distinctSearches(stage)
      const measurements: Array<Measurement> = []
      for (let pair = 1; pair <= stage.scale.pairs; pair++) {
        measurements.push(
          yield* measure(stage, subject, work, { variant: "without", pair }),
          yield* measure(stage, subject, { ...work, keyed: true }, { variant: "with", pair })
        )
      }
      const share = (figure: (measurement: Measurement) => number) => {
        const [without, with_] = ["without", "with"].map((variant) =>
          runsOf(measurements, "quarry", variant).map(figure)
        )
        return median((with_ ?? []).map((value, index) => value / (without?.[index] ?? value)))
      }
      const figures = [
        { name: "searches a second with a key, of those without", value: share((it) => it.perSecond), unit: "×" },
        { name: "CPU for a search with a key, of one without", value: share((it) => it.cpu.total), unit: "×" }
      ]
      return { measurements, figures }
    })
}

export const tools: Scenario = {
  name: "tools",
  measures:
    "a search by GET /v1/query and by a call of the tool at /mcp in two revisions, in turn, the stub at 0 ms, 64 connections",
  run: (stage) =>
    Effect.gen(function* () {
      const subject = yield* stage.quarry
      const work = distinctSearches(stage)
      const works = [
        ["query", work],
        ["2025-11-25", { ...work, protocol: "2025-11-25" }],
        ["2026-07-28", { ...work, protocol: "2026-07-28" }]
      ] as const
      const measurements: Array<Measurement> = []
      for (let pair = 1; pair <= stage.scale.pairs; pair++) {
        for (const [variant, it] of works) measurements.push(yield* measure(stage, subject, it, { variant, pair }))
      }
      const cpu = (variant: string) => runsOf(measurements, "quarry", variant).map((it) => it.cpu.total)
      const figure = (variant: string): Figure => ({
        name: `CPU for a call of ${variant}, of a query`,
        value: median(cpu(variant).map((value, index) => value / (cpu("query")[index] ?? value))),
        unit: "×",
        wanted: { atMost: 1.15 }
      })
      return { measurements, figures: [figure("2025-11-25"), figure("2026-07-28")] }
    })
}

export const connections: Scenario = {
  name: "connections",
  measures: "a search, the stub at 0 and at 200 ms, 1, 64 and 512 connections open, all accounts",
  run: (stage) =>
    variants(
      stage,
      [0, 200].flatMap((waitMs) =>
        [1, 64, 512].map((connections): readonly [string, Work] => [
          `${waitMs} ms, ${connections} open`,
          { ...distinctSearches(stage, connections), query: `what people look for wait${waitMs}` }
        ])
      )
    )
}

export const hot: Scenario = {
  name: "hot",
  measures: "a search, the stub at 0 ms, 64 connections, one account for all",
  run: (stage) => variants(stage, [["", { ...distinctSearches(stage), secrets: stage.secrets.slice(0, 1) }]])
}

export const cached: Scenario = {
  name: "cached",
  measures: "the same search over and over, answered from the cache, 64 connections, all accounts",
  run: (stage) => variants(stage, [["", { ...distinctSearches(stage), distinct: false }]])
}

export const bulk: Scenario = {
  name: "bulk",
  measures: "batches of 1, 10 and 50 rows, the stub at 0 ms, 8 connections, all accounts; figures are for each row",
  run: (stage) =>
    Effect.gen(function* () {
      const { measurements } = yield* variants(
        stage,
        [1, 10, 50].map((rows): readonly [string, Work] => [`${rows} rows`, { ...distinctSearches(stage, 8), rows }])
      )
      const value = median(runsOf(measurements, "quarry", "50 rows").map(({ perSecond }) => perSecond))
      const figures = [
        { name: "rows a second in batches of 50", value, unit: "", wanted: { atLeast: 6000 } },
        ofTheFloor(measurements, "50 rows", "CPU for a row of 50, of the floor's", 1.8)
      ]
      return { measurements, figures }
    })
}
