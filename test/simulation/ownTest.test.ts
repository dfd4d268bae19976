import { assert, it } from "@effect/vitest"
import { simulate } from "../../simulation/simulate.ts"
import { dayMs, rushStartMs } from "../../simulation/World.ts"

it("keeps its promises while every upstream is silent for a week", async () => {
  const moments: Array<string> = []
  const report = await simulate({
    ...{ seed: 7, days: 14, replicas: 2, customers: 12, requests: 600, faults: false },
    script: ({ agenda, upstreams }) => {
      const set = (mood: "silent" | "well") => {
        for (const upstream of upstreams) upstream.mood = mood
      }
      agenda.after(3 * dayMs + rushStartMs, () => set("silent"))
      agenda.after(10 * dayMs, () => set("well"))
    },
    write: (line) => moments.push(line)
  })
  assert.isUndefined(report.failure, report.tail.join("\n"))
  assert.isTrue(moments.some((line) => line.endsWith(": 504")))
})
