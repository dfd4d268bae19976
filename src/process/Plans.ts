import { Effect, Layer } from "effect"
import * as PlanFile from "../layers/PlanFile.ts"
import { AppConfig } from "../settings/Settings.ts"

export const layer = Layer.unwrap(
  Effect.map(AppConfig, ({ quarryPlans }) => (quarryPlans === undefined ? Layer.empty : PlanFile.layer(quarryPlans)))
)
