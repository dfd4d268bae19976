import { Deployment } from "../services/operations/Deployment.ts"
import { AppConfig } from "../settings/Settings.ts"

export const layer = AppConfig.serviceFrom(Deployment, ({ baseUrl, corsOrigins, demoOrigin }) => ({
  origin: new URL(baseUrl).origin,
  demoOrigin,
  corsOrigins: corsOrigins ?? []
}))
