import { createHistogram } from "node:perf_hooks"
import type { Outcome } from "./Job.ts"

/** Counts responses. Latencies are in microseconds. */
export const makeTally = () => {
  const histogram = createHistogram({ figures: 4 })
  const statuses: Record<string, number> = {}
  const startedAt = performance.now()
  let endedAt = startedAt
  let requests = 0
  let errors = 0
  const ms = (micros: number) => Math.round(micros) / 1000
  const percentile = (percent: number) => ms(histogram.percentile(percent))
  return {
    answered: (status: number, latencyMs: number) => {
      statuses[status] = (statuses[status] ?? 0) + 1
      histogram.record(Math.max(1, Math.round(latencyMs * 1000)))
      requests++
      endedAt = performance.now()
    },
    failed: () => {
      errors++
    },
    outcome: (): Outcome => ({
      requests,
      seconds: (endedAt - startedAt) / 1000,
      statuses,
      errors,
      latencyMs: {
        mean: ms(histogram.mean),
        p50: percentile(50),
        p95: percentile(95),
        p99: percentile(99),
        p999: percentile(99.9),
        max: ms(histogram.max)
      }
    })
  }
}
