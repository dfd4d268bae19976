import type { Effect, Scope } from "effect"
import type { Findings } from "../torture/support/Findings.ts"
import type { Observation } from "./support/Observation.ts"

export interface DrillOptions {
  /** True cuts waits to what shows that the drill works. Its figures then say nothing. */
  readonly short: boolean
}

/** One failure of a deployment of three replicas, made under load. */
export interface Drill {
  readonly name: string
  /** The failure, as the table names it. */
  readonly failure: string
  /** The part of the requests that may fail, from 0 to 1. Without it the table shows what failed and judges nothing. */
  readonly mayFail?: number
  /** Debian's packages that it needs beside Postgres and Redis, by program. */
  readonly needs?: Readonly<Record<string, string>>
  readonly run: (options: DrillOptions) => Effect.Effect<Observation, unknown, Findings | Scope.Scope>
}
