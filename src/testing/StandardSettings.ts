import { Duration, Layer } from "effect"
import { standardPlans } from "../domain/credits/Plan.ts"
import { TrustedProxies } from "../services/accounts/TrustedProxies.ts"
import { BillingTerms } from "../services/billing/BillingTerms.ts"
import { Plans } from "../services/credits/Plans.ts"
import { PageSettings } from "../services/pages/PageSettings.ts"
import { Limits } from "../services/providers/Limits.ts"

export type StandardSettings = BillingTerms | Limits | PageSettings | Plans | TrustedProxies

export const limits: Limits["Service"] = { providerTimeout: Duration.seconds(15), bulkBudget: Duration.seconds(60) }

export const plans = Layer.succeed(Plans, standardPlans)

/** The settings of a server whose operator set none. */
export const layer: Layer.Layer<StandardSettings> = Layer.mergeAll(
  Layer.succeed(Limits, limits),
  Layer.succeed(PageSettings, { isOn: true, timeout: Duration.seconds(15), cacheTtl: Duration.hours(1) }),
  plans,
  Layer.succeed(TrustedProxies, 0),
  Layer.succeed(BillingTerms, { grace: Duration.days(3), isOpen: true })
)
