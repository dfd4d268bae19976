import type { Effect, Scope } from "effect"
import type { Figure, Measurement } from "./support/Measurement.ts"
import type { Stage } from "./support/Stage.ts"

export interface Scenario {
  readonly name: string
  readonly measures: string
  readonly run: (stage: Stage) => Effect.Effect<Found, unknown, Scope.Scope>
}

export interface Found {
  readonly measurements?: ReadonlyArray<Measurement>
  readonly figures?: ReadonlyArray<Figure>
}
