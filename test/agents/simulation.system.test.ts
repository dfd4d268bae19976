import { assert, describe, it } from "@effect/vitest"
import { Effect, References } from "effect"
import { layer } from "../support/agents/AgentWorld.ts"
import { simulate } from "../support/agents/simulate.ts"

/** In the days of this seed, connections end in each of the four ways that the simulation knows. */
const usual = { days: 30, seed: 51 }
const days = Number(process.env.AGENT_DAYS ?? usual.days)
const seed = Number(process.env.AGENT_SEED ?? usual.seed)

describe("R79, R80: random days of 20 programs", () => {
  it.live(
    `seed ${seed}, ${days} days: a connection ends only by its person, its operator or the time without use`,
    () =>
      Effect.gen(function* () {
        const report = yield* simulate({ seed, days, programs: 20 })
        if (process.env.AGENT_DAYS !== undefined) console.log(report)
        assert.isAbove(report.calls, days)
        assert.isAbove(report.repeats, 0)
        if (days === usual.days && seed === usual.seed) assert.strictEqual(report.endings.size, 4)
      }).pipe(Effect.scoped, Effect.provide(layer), Effect.provideService(References.MinimumLogLevel, "Error")),
    { timeout: 3_600_000 }
  )
})
