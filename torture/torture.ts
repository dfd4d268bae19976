import { parseArgs } from "node:util"
import { Console, Effect, identity, Random } from "effect"
import * as Database from "../test/support/stores/Database.ts"
import { checkMutations } from "./mutations.ts"
import type { Scenario, ScenarioOptions } from "./Scenario.ts"
import { scenarios } from "./scenarios.ts"
import { Findings } from "./support/Findings.ts"

const usage = `npm run torture -- [--seed N] [--scenario NAME] [--rounds N] [--short] [--first] [--mutations]

Starts its own servers on loopback, breaks them and their dependencies, and checks that every promise was kept.
Needs Linux, Postgres with initdb and pg_ctl, and redis-server. QUARRY_TEST_DATABASE_URL names a Postgres server on which
it may create databases. --short ends leases by hand instead of waiting for them, and uses small sizes.
--first ends a scenario at its first violation. --mutations applies known faults to a copy of the sources, each of which
\`cost\` must find.
ATTACKS=1,3 in the environment limits \`hostile\` and \`neighbors\` to these of their six attacks.

${scenarios.map(({ name, promise, rounds }) => `${name.padEnd(12)} ${promise} (${rounds} rounds)`).join("\n")}`

/** Runs one scenario and returns its violations. A scenario that cannot continue has failed too. */
export const run = (scenario: Scenario, options: ScenarioOptions) =>
  Effect.gen(function* () {
    const findings = yield* Findings
    yield* Console.log(`${scenario.name}: ${scenario.promise} (seed ${options.seed}, ${options.rounds} rounds)`)
    const startedAt = performance.now()
    yield* scenario.run(options).pipe(
      Effect.scoped,
      options.first ? Effect.raceFirst(findings.broken) : identity,
      Effect.catchCause((cause) => findings.violation(`the scenario could not go on: ${cause}`))
    )
    const violations = yield* findings.violations
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    yield* Console.log(
      `  ${violations.length === 0 ? "held" : `BROKEN: ${violations.length} violations`} (${seconds} s)`
    )
    return violations
  }).pipe(Random.withSeed(options.seed), Effect.provide(Findings.layer, { local: true }))

const main = Effect.gen(function* () {
  const { values } = parseArgs({
    options: {
      seed: { type: "string" },
      scenario: { type: "string", multiple: true },
      rounds: { type: "string" },
      short: { type: "boolean", default: false },
      first: { type: "boolean", default: false },
      mutations: { type: "boolean", default: false },
      help: { type: "boolean", default: false }
    }
  })
  const chosen = scenarios.filter(({ name }) => values.scenario === undefined || values.scenario.includes(name))
  if (values.help || chosen.length === 0) {
    yield* Console.log(usage)
    return chosen.length === 0 ? 2 : 0
  }
  if (!(yield* Database.reachable)) {
    yield* Console.error("There is no Postgres; name one in QUARRY_TEST_DATABASE_URL.")
    return 2
  }
  if (values.mutations) return (yield* Effect.promise(checkMutations)) ? 0 : 1
  const seed = values.seed ?? String(yield* Random.nextIntBetween(1, 1_000_000))
  let broken = 0
  for (const scenario of chosen) {
    const rounds = values.rounds === undefined ? scenario.rounds : Number(values.rounds)
    broken += (yield* run(scenario, { seed, rounds, short: values.short, first: values.first })).length
  }
  return broken === 0 ? 0 : 1
})

if (import.meta.main) {
  process.exitCode = await Effect.runPromise(main)
}
