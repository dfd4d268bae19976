import { writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect } from "effect"
import type { Scenario } from "./Scenario.ts"
import { scenarios } from "./scenarios.ts"
import { machine } from "./support/Machine.ts"
import type { Result } from "./support/Measurement.ts"
import { table } from "./support/Report.ts"
import { make, type Scale, type Stage } from "./support/Stage.ts"

const usage = `npm run bench -- [--only NAME]... [--short] [--large] [--pairs N] [--seconds N] [--json FILE]

Measures Quarry beside a baseline written by hand, on a Postgres and a Redis of its own or on those that
BENCH_DATABASE_URL and BENCH_REDIS_URL name. --short is a look at whether everything runs; --large adds what takes many
minutes.

${scenarios.map(({ measures, name }) => `${name.padEnd(12)} ${measures}`).join("\n")}`

const full: Scale = { name: "full", seconds: 10, warmUpSeconds: 5, pairs: 5, accounts: 1000, large: false }
const short: Scale = { name: "short", seconds: 1, warmUpSeconds: 0.5, pairs: 1, accounts: 20, large: false }

const runScenario = Effect.fnUntraced(function* (stage: Stage, { measures, name, run }: Scenario) {
  yield* Console.error(`${name}: ${measures}`)
  const { figures = [], measurements = [] } = yield* Effect.scoped(run(stage))
  const result: Result = { scenario: name, measures, measurements, figures }
  yield* Console.log(table(result))
  return result
})

/** Runs scenarios one after the other and answers what each has found. */
export const bench = (chosen: ReadonlyArray<Scenario>, scale: Scale) =>
  Effect.scoped(
    Effect.gen(function* () {
      const stage = yield* make(scale)
      const results = yield* Effect.forEach(chosen, (scenario) => runScenario(stage, scenario))
      return { machine: { ...machine(), stores: stage.stores.description }, scale, results }
    })
  )

const options = {
  only: { type: "string", multiple: true },
  short: { type: "boolean", default: false },
  large: { type: "boolean", default: false },
  pairs: { type: "string" },
  seconds: { type: "string" },
  json: { type: "string" },
  help: { type: "boolean", default: false }
} as const

const main = Effect.gen(function* () {
  const { values } = parseArgs({ options })
  const chosen = scenarios.filter(({ name }) => values.only === undefined || values.only.includes(name))
  if (values.help || chosen.length === 0) return yield* Console.log(usage)
  const base = values.short ? short : full
  const scale: Scale = {
    ...base,
    large: values.large,
    pairs: values.pairs === undefined ? base.pairs : Number(values.pairs),
    seconds: values.seconds === undefined ? base.seconds : Number(values.seconds)
  }
  const report = yield* bench(chosen, scale)
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`)
})

if (import.meta.main) NodeRuntime.runMain(main)
