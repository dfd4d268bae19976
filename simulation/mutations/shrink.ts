import { type Report, simulate } from "../simulate.ts"
import type { Options } from "../World.ts"

/** Fewer of one thing, as long as the simulation still fails. */
type Step = (options: Options) => Options | undefined

const half =
  (name: "customers" | "replicas"): Step =>
  (options) => {
    const value = Math.floor(options[name] / 2)
    return value < 1 ? undefined : { ...options, [name]: value }
  }

const steps: ReadonlyArray<Step> = [
  half("customers"),
  half("replicas"),
  (options) => (options.faults ? { ...options, faults: false } : undefined)
]

/** Most runs of one search for a smaller failure. */
const maxRuns = 24

/**
 * Looks for the least that still fails: fewer customers and replicas, no faults, and then no more events than it takes.
 * Everybody has chance of their own, so that those who stay do the same as before.
 */
export const shrink = async (failed: Report): Promise<Report> => {
  let best = failed
  let runs = 0
  for (const step of steps) {
    while (runs++ < maxRuns) {
      const smaller = step(best.options)
      if (smaller === undefined) break
      const report = await simulate({ ...smaller, write: undefined })
      if (report.failure === undefined) break
      best = report
    }
  }
  // A run ends with the event that fails, so that its number of events is the shortest prefix.
  return { ...best, options: { ...best.options, maxEvents: best.events } }
}
