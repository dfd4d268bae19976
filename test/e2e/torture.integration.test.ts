import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { describeWithPostgres } from "../support/Postgres.ts"
import { describeWithServers } from "../support/PostgresServer.ts"
import { describeWithRedis } from "../support/RedisServer.ts"
import type { Scenario } from "../torture/Scenario.ts"
import { contention } from "../torture/scenarios/contention.ts"
import { disconnect } from "../torture/scenarios/disconnect.ts"
import { hostile } from "../torture/scenarios/hostile.ts"
import { kill } from "../torture/scenarios/kill.ts"
import { postgres } from "../torture/scenarios/postgres.ts"
import { redis } from "../torture/scenarios/redis.ts"
import { requests } from "../torture/scenarios/requests.ts"
import { sigterm } from "../torture/scenarios/sigterm.ts"
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

// `npm run torture` is the long form of these.
describeWithPostgres("the whole service, broken on purpose", () => {
  holds(contention, 2)
  holds(kill, 4)
  holds(disconnect, 2)
  holds(sigterm, 3)
  holds(hostile, 1)
  holds(requests, 2)
  describeWithServers("with a Postgres server of its own", () => {
    holds(postgres, 4)
  })
  describeWithRedis("with a Redis server of its own", () => {
    holds(redis, 5)
  })
})
