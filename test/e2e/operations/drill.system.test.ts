import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { drills } from "../../../drill/drills.ts"
import { run, table } from "../../../drill/main.ts"
import { describeWithServers } from "../../support/servers/PostgresServer.ts"
import { describeWithRedis } from "../../support/servers/RedisServer.ts"

describeWithServers("npm run drill", () => {
  describeWithRedis("with a Redis of its own", () => {
    it.live("makes the failure under load, and shows what users saw and that credits are exact", () =>
      Effect.gen(function* () {
        const drill = drills.find(({ name }) => name === "postgres-killed") ?? assert.fail("there is no such drill")
        const line = yield* run(drill, { short: true })
        assert.deepStrictEqual(line.violations, [])
        assert.isAbove(line.observation?.failed ?? 0, 0)
        assert.match(
          table([line]),
          /^\| Postgres kill -9 and restart, twice \| \d+ of \d+ failed, .+ \| exact \| \d+\.\d s \|$/m
        )
      })
    )
  })
})
