import { execFileSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { growthPercent } from "../../bench/scenarios/process.ts"
import { cpuMs } from "../../bench/support/Cpu.ts"
import { type Measurement, median, ratios } from "../../bench/support/Measurement.ts"

const run = (subject: string, pair: number, perSecond: number): Measurement => ({
  subject,
  variant: "",
  pair,
  searches: 1,
  perSecond,
  latencyMs: { mean: 1, p50: 1, p95: 1, p99: 1, p999: 1, max: 1 },
  cpu: { service: 1, postgres: 1, redis: 1, total: 3 },
  statuses: {},
  errors: 0
})

describe("the benchmark's figures", () => {
  it("a median of an even number of values is the mean of the two in the middle", () => {
    assert.strictEqual(median([9, 1, 4]), 4)
    assert.strictEqual(median([9, 1, 4, 6]), 5)
  })

  it("ratios compare the runs of one pair, and leave out a run that has no other", () => {
    const runs = [run("a", 1, 10), run("b", 1, 5), run("a", 2, 100), run("b", 2, 400), run("a", 3, 1)]
    assert.deepStrictEqual(
      ratios(runs, "", ["a", "b"], ({ perSecond }) => perSecond),
      [2, 0.25]
    )
  })

  it("growth is that of the straight line through the values, so that one late peak is not all of it", () => {
    assert.strictEqual(growthPercent([100, 100, 100]), 0)
    assert.closeTo(growthPercent([95, 100, 105]), 10, 1e-9)
    assert.isBelow(growthPercent([100, 100, 100, 100, 100, 100, 100, 100, 100, 120]), 12)
  })

  it("CPU time counts children that have ended", () => {
    const before = cpuMs(process.pid)
    execFileSync(process.execPath, ["-e", "const end = Date.now() + 300; while (Date.now() < end);"])
    assert.isAbove(cpuMs(process.pid) - before, 50)
  })
})
