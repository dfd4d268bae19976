import { Context, Hash } from "effect"
import { type PlanTable, plans } from "../../domain/credits/Plan.ts"

/** The plans as the operator sells them (R75). */
export class Plans extends Context.Service<Plans, PlanTable>()("quarry/services/credits/Plans") {}

/** Equal in replicas that were started with the same plans. */
export const digestOf = (table: PlanTable): string => {
  const rows = plans.map((plan) => {
    const { concurrency, name, packCentsPer1000, priceCents, quota = null } = table[plan]
    return [name, quota, concurrency, priceCents, packCentsPer1000]
  })
  return (Hash.string(JSON.stringify(rows)) >>> 0).toString(16)
}
