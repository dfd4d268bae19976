import { fileURLToPath } from "node:url"
import { Effect, Redacted } from "effect"
import * as Audit from "../../torture/support/Audit.ts"
import { Findings } from "../../torture/support/Findings.ts"
import { secrets } from "../../torture/support/Replica.ts"
import * as Store from "../../torture/support/Store.ts"
import * as Subprocess from "../../torture/support/Subprocess.ts"
import type { Drill } from "../Drill.ts"
import * as Deployment from "../support/Deployment.ts"
import { summary } from "../support/Observation.ts"

const program = fileURLToPath(new URL("../../src/cli.ts", import.meta.url))

const migrate = (database: Redacted.Redacted) =>
  Subprocess.start(process.execPath, [program, "migrate"], {
    env: { DATABASE_URL: Redacted.value(database), ...secrets }
  })

/** Each round ends two that run at once, a little later than the round before, until they reach their end. */
const rounds = 20
const stepMs = 100

const migrationsKilled: Drill = {
  name: "migrate-killed",
  failure: `SIGKILL during \`migrate\`, two at once, ${rounds} times`,
  run: Effect.fnUntraced(function* ({ short }) {
    const findings = yield* Findings
    const { url } = yield* Deployment.postgres
    for (let round = 1; round <= (short ? 3 : rounds); round++) {
      const runners = yield* Effect.all([migrate(url), migrate(url)])
      yield* Effect.sleep(round * stepMs)
      for (const { ended, signal } of runners) {
        signal("SIGKILL")
        yield* ended
      }
    }
    const code = yield* (yield* migrate(url)).ended
    if (code !== 0) yield* findings.violation(`the last \`migrate\` ended with ${code}`)
    yield* Audit.verified(yield* Store.open(url))
    return { ...summary([], performance.now()), notes: ["the next one completes"] }
  })
}

export const upgradeDrills: ReadonlyArray<Drill> = [migrationsKilled]
