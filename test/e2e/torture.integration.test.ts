import { spawnSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { describeWithPostgres } from "../support/Postgres.ts"
import type { Scenario } from "../torture/Scenario.ts"
import { contention } from "../torture/scenarios/contention.ts"
import { disconnect } from "../torture/scenarios/disconnect.ts"
import { kill } from "../torture/scenarios/kill.ts"
import { postgres } from "../torture/scenarios/postgres.ts"
import { redis } from "../torture/scenarios/redis.ts"
import { sigterm } from "../torture/scenarios/sigterm.ts"
import * as PostgresServer from "../torture/support/PostgresServer.ts"
import { run } from "../torture/torture.ts"

const timeout = 300_000

const holds = (scenario: Scenario, rounds: number) =>
  it.live(
    scenario.promise,
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* run(scenario, { seed: "1", rounds, short: true }), [])
      }),
    timeout
  )

/** Tests that start servers of their own, and say so when they are skipped for want of the programs. */
const describeWith = (name: string, isThere: boolean, tests: () => void): void => {
  describe.skipIf(!isThere)(isThere ? name : `${name} (needs its programs on the machine)`, tests)
}

const hasRedis = spawnSync("redis-server", ["--version"]).status === 0

// `npm run torture` is the long form of these.
describeWithPostgres("the whole service, broken on purpose", () => {
  holds(contention, 2)
  holds(kill, 4)
  holds(disconnect, 2)
  holds(sigterm, 3)
  describeWith("with a Postgres server of its own", PostgresServer.installed, () => {
    holds(postgres, 4)
  })
  describeWith("with a Redis server of its own", hasRedis, () => {
    holds(redis, 5)
  })
})
