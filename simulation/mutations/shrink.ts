import { type Report, simulate } from "../simulate.ts"
import type { Options } from "../World.ts"

/** A reduction of the options. The simulation must still fail with it. */
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

/** Maximum runs when looking for a smaller failure. */
const maxRuns = 24

/**
 * Looks for a smaller failure: fewer customers and replicas, no faults, and no more events than necessary. Every actor
 * has a separate random stream, so the remaining actors behave as before.
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
  // A run ends with the failing event, so its number of events is the shortest prefix.
  return { ...best, options: { ...best.options, maxEvents: best.events } }
}
