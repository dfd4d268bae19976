import type { Scenario } from "./Scenario.ts"
import { backups } from "./scenarios/backup.ts"
import { contention } from "./scenarios/contention.ts"
import { disconnect } from "./scenarios/disconnect.ts"
import { hostile } from "./scenarios/hostile.ts"
import { kill } from "./scenarios/kill.ts"
import { limiter } from "./scenarios/limiter.ts"
import { postgres } from "./scenarios/postgres.ts"
import { redis } from "./scenarios/redis.ts"
import { requests } from "./scenarios/requests.ts"
import { sigterm } from "./scenarios/sigterm.ts"
import { throughput } from "./scenarios/throughput.ts"
import { timing } from "./scenarios/timing.ts"

export const scenarios: ReadonlyArray<Scenario> = [
  contention,
  kill,
  disconnect,
  postgres,
  backups,
  redis,
  sigterm,
  limiter,
  throughput,
  timing,
  hostile,
  requests
]
