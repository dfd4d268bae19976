import { Duration, Layer } from "effect"
import { TrustedProxies } from "../services/accounts/TrustedProxies.ts"
import { BillingTerms } from "../services/billing/BillingTerms.ts"
import { PageSettings } from "../services/pages/PageSettings.ts"

export type StandardSettings = BillingTerms | PageSettings | TrustedProxies

/** The settings of a server whose operator set none. */
export const layer: Layer.Layer<StandardSettings> = Layer.mergeAll(
  Layer.succeed(PageSettings, { isOn: true, timeout: Duration.seconds(15), cacheTtl: Duration.hours(1) }),
  Layer.succeed(TrustedProxies, 0),
  Layer.succeed(BillingTerms, { grace: Duration.days(3), isOpen: true })
)
