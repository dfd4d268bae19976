import { Effect, Layer } from "effect"
import { Deployment } from "../services/operations/Deployment.ts"
import { AppConfig } from "../settings/Settings.ts"

export const layer = Layer.effect(
  Deployment,
  Effect.map(AppConfig, ({ baseUrl, corsOrigins, demoOrigin }) => ({
    origin: new URL(baseUrl).origin,
    demoOrigin,
    corsOrigins: corsOrigins ?? []
  }))
)
