import { assert, describe, it } from "@effect/vitest"
import { Effect, References } from "effect"
import { layer } from "../support/agents/AgentWorld.ts"
import { simulate } from "../support/agents/simulate.ts"

const days = Number(process.env.AGENT_DAYS ?? 40)
const seed = Number(process.env.AGENT_SEED ?? 7)

describe("R79, R80: random days of 20 programs", () => {
  it.live(
    `seed ${seed}, ${days} days: a connection ends only by its person, its operator or the time without use`,
    () =>
      Effect.gen(function* () {
        const report = yield* simulate({ seed, days, programs: 20 })
        if (process.env.AGENT_DAYS !== undefined) console.log(report)
        assert.isAbove(report.calls, days)
        assert.isAbove(report.repeats, 0)
      }).pipe(Effect.scoped, Effect.provide(layer), Effect.provideService(References.MinimumLogLevel, "Error")),
    { timeout: 3_600_000 }
  )
})
