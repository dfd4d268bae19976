import { Layer } from "effect"
import { standardPlans } from "../domain/credits/Plan.ts"
import * as PlanFile from "../layers/PlanFile.ts"
import { Plans } from "../services/credits/Plans.ts"
import { AppConfig } from "../settings/Settings.ts"

export const layer = AppConfig.layerFrom(({ quarryPlans }) =>
  quarryPlans === undefined ? Layer.succeed(Plans, standardPlans) : PlanFile.layer(quarryPlans)
)
