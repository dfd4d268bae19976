import { Layer } from "effect"
import * as PlanFile from "../layers/PlanFile.ts"
import { AppConfig } from "../settings/Settings.ts"

export const layer = AppConfig.layerFrom(({ quarryPlans }) =>
  quarryPlans === undefined ? Layer.empty : PlanFile.layer(quarryPlans)
)
