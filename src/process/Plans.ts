import { Effect, Layer } from "effect"
import * as PlanFile from "../layers/PlanFile.ts"
import { AppConfig } from "../settings/Settings.ts"

/** The plans of the file that the settings name, or those of the specification (R75). */
export const layer = Layer.unwrap(
  Effect.map(AppConfig, ({ quarryPlans }) => (quarryPlans === undefined ? Layer.empty : PlanFile.layer(quarryPlans)))
)
