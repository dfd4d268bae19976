import { Console, Effect, Fiber } from "effect"
import type { Answer } from "../../torture/support/Client.ts"
import { Findings } from "../../torture/support/Findings.ts"
import * as Pace from "../../torture/support/Pace.ts"
import { checkBooks, type Observation, perSecond, summary } from "../support/Observation.ts"
import * as Site from "./Site.ts"
import { type Task, tasks } from "./tasks.ts"

/** A task as the customers saw it. */
export interface Row {
  readonly task: Task
  readonly observation: Observation
  readonly violations: ReadonlyArray<string>
  readonly seconds: number
}

/** Searches go on for this long before and after each task. */
const margin = "2 seconds"

/** Longer than any task. */
const longestSeconds = 3600

/** Does one task while customers search, and compares all credits since the start with the books. */
const runTask = Effect.fnUntraced(function* (site: Site.Site, task: Task, earlier: ReadonlyArray<Answer>) {
  const findings = yield* Findings
  yield* Console.log(`book: ${task.name}`)
  const { client, customers, fronts } = site.deployment
  let isOver = false
  const searching = yield* Effect.forkChild(
    Pace.run({ client, customers, perSecond, replicas: fronts, seconds: longestSeconds, isOver: () => isOver })
  )
  yield* Effect.sleep(margin)
  const startedAt = performance.now()
  const notes = yield* task
    .run(site)
    .pipe(Effect.catchCause((cause) => Effect.as(findings.violation(`the task could not be done: ${cause}`), [])))
  const endedAt = performance.now()
  yield* Effect.sleep(margin)
  isOver = true
  const answers = yield* Fiber.join(searching)
  yield* checkBooks(site.deployment, [...earlier, ...answers], { short: false })
  const observation = summary(answers, endedAt, notes)
  if (observation.failed > 0) yield* findings.violation(`${observation.failed} requests failed`)
  const row: Row = {
    ...{ task, observation, violations: yield* findings.violations },
    seconds: Math.round((endedAt - startedAt) / 1000)
  }
  return { row, answers }
})

/** The day-two tasks of the operator guide, one after the other, on three replicas under load. */
export const run = (names: ReadonlyArray<string> | undefined) =>
  Effect.gen(function* () {
    const site = yield* Site.make
    const rows: Array<Row> = []
    const answers: Array<Answer> = []
    for (const task of tasks.filter(({ name }) => names === undefined || names.some((it) => name.includes(it)))) {
      const done = yield* Effect.provide(runTask(site, task, answers), Findings.layer, { local: true })
      answers.push(...done.answers)
      rows.push(done.row)
    }
    return rows
  }).pipe(Effect.scoped)

export const table = (rows: ReadonlyArray<Row>): string =>
  [
    "| Task | Took | Requests | Failed | p99 | Credits |",
    "| --- | ---: | ---: | ---: | ---: | --- |",
    ...rows.map(({ observation, seconds, task, violations }) => {
      const name = [task.name, ...observation.notes].join(", ")
      const credits = violations.length === 0 ? "exact" : `BROKEN: ${violations[0]}`
      return `| ${name} | ${seconds} s | ${observation.requests} | ${observation.failed} | ${observation.p99Ms} ms | ${credits} |`
    })
  ].join("\n")
