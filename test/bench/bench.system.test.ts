import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { bench } from "../../bench/bench.ts"
import { scenarios } from "../../bench/scenarios.ts"
import { plot } from "../../bench/support/Plot.ts"
import { page } from "../../bench/support/Report.ts"
import { short } from "../../bench/support/Scale.ts"
import { describeWithServers } from "../support/servers/PostgresServer.ts"
import { describeWithRedis } from "../support/servers/RedisServer.ts"

/** These run what `single` runs, with other figures. */
const alike = ["connections", "hot", "cached"]
const chosen = scenarios.filter(({ name }) => !alike.includes(name))

const refusals = ["401", "402", "429"]

/** Scenarios without HTTP, and so without statuses. */
const inProcess = ["ledger", "limiter", "decode"]

describeWithRedis("npm run bench", () => {
  describeWithServers("on a Postgres of its own", () => {
    it.live(
      "measures both sides in every scenario, and each request is answered as the scenario means it to be",
      () =>
        Effect.gen(function* () {
          const report = yield* bench(chosen, short)
          for (const { figures, measurements, scenario } of report.results) {
            assert.isAbove(figures.length + measurements.length, 0, scenario)
            for (const { name, value } of figures) assert.isTrue(Number.isFinite(value), `${scenario}: ${name}`)
            for (const { errors, searches, statuses, subject, variant } of measurements) {
              const told = `${scenario} ${variant} ${subject}`
              assert.isAbove(searches, 0, told)
              assert.strictEqual(errors, 0, told)
              const wanted = refusals.includes(variant) ? variant : "200"
              assert.deepStrictEqual(Object.keys(statuses), inProcess.includes(scenario) ? [] : [wanted], told)
            }
          }
          const drawn = plot(report.results)
          for (const subject of ["quarry", "baseline", "baseline (CTEs)", "floor"]) {
            assert.include(page(report), `| ${subject} |`)
            assert.include(drawn, `>${subject}<`)
          }
        }),
      900_000
    )
  })
})
