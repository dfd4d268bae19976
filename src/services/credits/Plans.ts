import { Context, Hash } from "effect"
import { type PlanTable, plans, standardPlans } from "../../domain/credits/Plan.ts"

/** The plans as the operator sells them (R75). */
export const Plans = Context.Reference<PlanTable>("quarry/references/Plans", {
  defaultValue: () => standardPlans
})

/** Equal in replicas that were started with the same plans. */
export const digestOf = (table: PlanTable): string => {
  const rows = plans.map((plan) => {
    const { concurrency, name, packCentsPer1000, priceCents, quota = null } = table[plan]
    return [name, quota, concurrency, priceCents, packCentsPer1000]
  })
  return (Hash.string(JSON.stringify(rows)) >>> 0).toString(16)
}
