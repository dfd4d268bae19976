import type { SigningSecrets } from "../../services/billing/PaymentProvider.ts"
import type { PolarClientOptions } from "./PolarClient.ts"
import type { PolarProducts } from "./PolarObjects.ts"

export interface PolarOptions extends PolarClientOptions {
  readonly webhookSecrets: SigningSecrets
  readonly products: PolarProducts
  /** Our page to which Polar redirects a buyer. */
  readonly returnUrl: string
  /** Our address for Polar's webhook deliveries. */
  readonly webhookUrl: string
}
