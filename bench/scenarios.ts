import type { Scenario } from "./Scenario.ts"
import { fairness } from "./scenarios/fairness.ts"
import { accounts, idle, log } from "./scenarios/growth.ts"
import { latency } from "./scenarios/latency.ts"
import { decode, ledger, limiter } from "./scenarios/parts.ts"
import { memory, replicas, start, workers } from "./scenarios/process.ts"
import { refusals } from "./scenarios/refusals.ts"
import { bulk, cached, connections, hot, keyed, single, tools } from "./scenarios/search.ts"
import { collector, tracing } from "./scenarios/telemetry.ts"

/** In the order in which they run. */
export const scenarios: ReadonlyArray<Scenario> = [
  single,
  keyed,
  tools,
  connections,
  hot,
  cached,
  bulk,
  refusals,
  latency,
  fairness,
  tracing,
  collector,
  start,
  memory,
  replicas,
  workers,
  ledger,
  limiter,
  decode,
  idle,
  accounts,
  log
]
