import type { Drill } from "./Drill.ts"
import { postgresDrills } from "./drills/postgres.ts"
import { proxyDrills } from "./drills/proxies.ts"
import { redisDrills } from "./drills/redis.ts"
import { replicaDrills } from "./drills/replicas.ts"
import { upgradeDrills } from "./drills/upgrades.ts"

export const drills: ReadonlyArray<Drill> = [
  ...postgresDrills,
  ...redisDrills,
  ...replicaDrills,
  ...proxyDrills,
  ...upgradeDrills
]
