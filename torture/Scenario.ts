import type { Effect, Scope } from "effect"
import type { Findings } from "./support/Findings.ts"

export interface ScenarioOptions {
  /** Seed of `Random`. */
  readonly seed: string
  readonly rounds: number
  /** Ends leases by hand instead of waiting for them, and uses small sizes. */
  readonly short: boolean
  /** Ends the run at the first violation. */
  readonly first: boolean
}

/** A way of breaking things, and what must still hold. Uses `Random`, so that a seed reproduces it. */
export interface Scenario {
  readonly name: string
  /** The promise that it checks. */
  readonly promise: string
  readonly rounds: number
  readonly run: (options: ScenarioOptions) => Effect.Effect<void, unknown, Findings | Scope.Scope>
}
