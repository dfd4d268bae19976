import type { Scenario } from "./Scenario.ts"
import { bulk, cached, connections, hot, single } from "./scenarios/search.ts"

/** In the order in which they run. */
export const scenarios: ReadonlyArray<Scenario> = [single, connections, hot, cached, bulk]
