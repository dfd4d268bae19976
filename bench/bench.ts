import { writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Effect } from "effect"
import type { Scenario } from "./Scenario.ts"
import { scenarios } from "./scenarios.ts"
import { load, machine } from "./support/Machine.ts"
import type { Result } from "./support/Measurement.ts"
import { plot } from "./support/Plot.ts"
import { page, table } from "./support/Report.ts"
import { full, large, type Scale, short } from "./support/Scale.ts"
import { make, type Stage } from "./support/Stage.ts"

const usage = `npm run bench -- [--only NAME]... [--short] [--large] [--pairs N] [--seconds N] [--results] [--json FILE]

Compares Quarry with a handwritten baseline. Starts its own Postgres and Redis, unless BENCH_DATABASE_URL and
BENCH_REDIS_URL name servers. --short only checks that everything runs; --large adds scenarios that take many minutes. A
complete run writes bench/results/. With --results, a partial run writes its results there too.

${scenarios.map(({ measures, name }) => `${name.padEnd(12)} ${measures}`).join("\n")}`

const runScenario = Effect.fnUntraced(function* (stage: Stage, { measures, name, run }: Scenario) {
  yield* Console.error(`${name}: ${measures}`)
  const { figures = [], measurements = [] } = yield* Effect.orDie(Effect.scoped(run(stage)))
  const result: Result = { scenario: name, measures, measurements, figures }
  yield* Console.log(table(result))
  return result
})

/** Runs scenarios one after the other and returns the result of each. */
export const bench = (chosen: ReadonlyArray<Scenario>, scale: Scale) =>
  Effect.scoped(
    Effect.gen(function* () {
      const loadBefore = load()
      const stage = yield* make(scale)
      const results = yield* Effect.forEach(chosen, (scenario) => runScenario(stage, scenario))
      return {
        machine: { ...machine(), stores: stage.stores.description, loadBefore, loadAfter: load() },
        scale,
        results
      }
    })
  )

type Report = Effect.Success<ReturnType<typeof bench>>

const json = (report: Report): string => `${JSON.stringify(report, null, 2)}\n`

/** Writes the results to the repository. */
const writeResults = (report: Report): void => {
  const file = (name: string) => new URL(`results/${name}`, import.meta.url)
  writeFileSync(file("results.json"), json(report))
  writeFileSync(file("results.md"), page(report))
  writeFileSync(file("cpu.svg"), plot(report.results))
}

const options = {
  only: { type: "string", multiple: true },
  short: { type: "boolean", default: false },
  large: { type: "boolean", default: false },
  pairs: { type: "string" },
  seconds: { type: "string" },
  results: { type: "boolean", default: false },
  json: { type: "string" },
  help: { type: "boolean", default: false }
} as const

/** Parses a positive number. Returns the fallback for anything else. */
const positive = (text: string | undefined, fallback: number): number => (Number(text) > 0 ? Number(text) : fallback)

const main = Effect.gen(function* () {
  const { values } = parseArgs({ options })
  const chosen = scenarios.filter(({ name }) => values.only === undefined || values.only.includes(name))
  if (values.help || chosen.length === 0) {
    yield* Console.log(usage)
    return chosen.length === 0 ? 2 : 0
  }
  const base = values.short ? short : full
  const scale: Scale = {
    ...base,
    ...(values.large ? large : {}),
    pairs: positive(values.pairs, base.pairs),
    seconds: positive(values.seconds, base.seconds)
  }
  const report = yield* bench(chosen, scale)
  if (values.json !== undefined) writeFileSync(values.json, json(report))
  const whole = chosen.length === scenarios.length && !values.short
  if (whole || values.results) writeResults(report)
  return 0
}).pipe(Effect.catchTag("CannotRun", ({ message }) => Effect.as(Console.error(message), 1)))

// Handles SIGINT, so that an interrupted run leaves no servers behind.
if (import.meta.main) {
  NodeRuntime.runMain(
    Effect.map(main, (code) => {
      process.exitCode = code
    })
  )
}
