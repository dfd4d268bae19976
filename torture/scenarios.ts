import type { Scenario } from "./Scenario.ts"
import { backups } from "./scenarios/backup.ts"
import { bodies } from "./scenarios/bodies.ts"
import { contention } from "./scenarios/contention.ts"
import { cost } from "./scenarios/cost.ts"
import { disconnect } from "./scenarios/disconnect.ts"
import { hostile } from "./scenarios/hostile.ts"
import { idempotency } from "./scenarios/idempotency.ts"
import { kill } from "./scenarios/kill.ts"
import { limiter } from "./scenarios/limiter.ts"
import { neighbors } from "./scenarios/neighbors.ts"
import { postgres } from "./scenarios/postgres.ts"
import { redis } from "./scenarios/redis.ts"
import { requests } from "./scenarios/requests.ts"
import { sigterm } from "./scenarios/sigterm.ts"
import { streams } from "./scenarios/streams.ts"
import { temporary } from "./scenarios/temporary.ts"
import { throughput } from "./scenarios/throughput.ts"
import { timing } from "./scenarios/timing.ts"
import { typescript } from "./scenarios/typescript.ts"
import { workers } from "./scenarios/workers.ts"

export const scenarios: ReadonlyArray<Scenario> = [
  contention,
  kill,
  workers,
  idempotency,
  disconnect,
  postgres,
  backups,
  redis,
  temporary,
  sigterm,
  limiter,
  streams,
  throughput,
  timing,
  typescript,
  hostile,
  neighbors,
  bodies,
  requests,
  cost
]
