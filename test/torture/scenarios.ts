import type { Scenario } from "./Scenario.ts"
import { contention } from "./scenarios/contention.ts"

export const scenarios: ReadonlyArray<Scenario> = [contention]
