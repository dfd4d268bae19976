import type { Effect, Scope } from "effect"
import type { Findings } from "./support/Findings.ts"

export interface ScenarioOptions {
  /** What `Random` is seeded with. */
  readonly seed: string
  readonly rounds: number
  /** Whether leases are ended by hand instead of waited for, and sizes are small. */
  readonly short: boolean
  /** Whether the first violation ends the run. */
  readonly first: boolean
}

/** One way of breaking things, and what must be true of it. Chance comes from `Random`, so that a seed repeats it. */
export interface Scenario {
  readonly name: string
  /** What it must show. */
  readonly promise: string
  readonly rounds: number
  readonly run: (options: ScenarioOptions) => Effect.Effect<void, unknown, Findings | Scope.Scope>
}
