import { accessSync, constants } from "node:fs"
import { writeFile } from "node:fs/promises"
import { delimiter, join } from "node:path"
import { parseArgs } from "node:util"
import { Console, Effect } from "effect"
import { Findings } from "../torture/support/Findings.ts"
import * as Book from "./book/book.ts"
import type { Drill, DrillOptions } from "./Drill.ts"
import { drills } from "./drills.ts"
import type { Observation } from "./support/Observation.ts"

const usage = `npm run drill -- [--drill NAME]… [--short] [--json FILE]
npm run drill -- book [--task TEXT]…

Makes each failure on three replicas with servers of its own, and prints what users saw, if the credits in the answers are
those in the books, and how long recovery took. It needs Linux, root, and Debian's packages postgresql,
pgbouncer, redis-server, haproxy, nginx, caddy and faketime. --short shows that the drills work; its figures say nothing.
"book" does an operator's ordinary tasks under the same load, those whose name has TEXT where --task is given.

${drills.map(({ failure, name }) => `${name.padEnd(24)} ${failure}`).join("\n")}`

interface Line {
  readonly drill: Drill
  /** Without it the drill could not go on. */
  readonly observation: Observation | undefined
  readonly violations: ReadonlyArray<string>
}

const isInstalled = (program: string): boolean =>
  `${process.env.PATH}:/usr/sbin`.split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })

/** Runs one drill. One that cannot go on has failed too. */
export const run = (drill: Drill, options: DrillOptions): Effect.Effect<Line> =>
  Effect.gen(function* () {
    const findings = yield* Findings
    yield* Console.log(`${drill.name}: ${drill.failure}`)
    const observation = yield* drill.run(options).pipe(
      Effect.scoped,
      Effect.catchCause((cause) => Effect.as(findings.violation(`the drill could not go on: ${cause}`), undefined))
    )
    const { mayFail = 1 } = drill
    if (observation !== undefined && observation.failed > mayFail * observation.requests) {
      yield* findings.violation(
        `${observation.failed} of ${observation.requests} failed, at most ${mayFail * 100} % may`
      )
    }
    return { drill, observation, violations: yield* findings.violations }
  }).pipe(Effect.provide(Findings.layer, { local: true }))

const row = ({ drill, observation, violations }: Line): string => {
  if (observation === undefined) return `| ${drill.failure} | could not go on | | |`
  const { failed, notes, p99Ms, recoveryMs, requests, statuses } = observation
  const saw = [`${failed} of ${requests} failed, p99 ${p99Ms} ms (${statuses})`, ...notes].join("; ")
  const credits = violations.length === 0 ? "exact" : `BROKEN: ${violations[0]}`
  return `| ${drill.failure} | ${saw} | ${credits} | ${failed === 0 ? "–" : `${(recoveryMs / 1000).toFixed(1)} s`} |`
}

export const table = (lines: ReadonlyArray<Line>): string =>
  ["| Drill | Users saw | Credits | Recovery |", "|---|---|---|---|", ...lines.map(row)].join("\n")

const main = Effect.gen(function* () {
  const { positionals, values } = parseArgs({
    options: {
      drill: { type: "string", multiple: true },
      short: { type: "boolean", default: false },
      json: { type: "string" },
      task: { type: "string", multiple: true },
      help: { type: "boolean", default: false }
    },
    allowPositionals: true
  })
  if (positionals.includes("book") && !values.help) {
    const rows = yield* Book.run(values.task)
    yield* Console.log(`\n${Book.table(rows)}`)
    return rows.some(({ violations }) => violations.length > 0) ? 1 : 0
  }
  const { drill: names, json, short } = values
  const chosen = drills.filter(({ name }) => names === undefined || names.includes(name))
  if (values.help || chosen.length === 0) {
    yield* Console.log(usage)
    return chosen.length === 0 ? 2 : 0
  }
  const missing = new Map(chosen.flatMap(({ needs = {} }) => Object.entries(needs)))
  for (const program of [...missing.keys()]) if (isInstalled(program)) missing.delete(program)
  if (missing.size > 0) {
    yield* Console.error(`Missing: apt-get install ${[...missing.values()].join(" ")}`)
    return 2
  }
  const lines = yield* Effect.forEach(chosen, (drill) => run(drill, { short }))
  yield* Console.log(`\n${table(lines)}`)
  if (json !== undefined) {
    const report = lines.map(({ drill, ...line }) => ({ name: drill.name, failure: drill.failure, ...line }))
    yield* Effect.promise(() => writeFile(json, `${JSON.stringify(report, undefined, 2)}\n`))
  }
  return lines.some(({ violations }) => violations.length > 0) ? 1 : 0
})

if (import.meta.main) {
  process.exitCode = await Effect.runPromise(main)
}
