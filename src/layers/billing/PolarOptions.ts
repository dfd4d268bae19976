import type { SigningSecrets } from "../../services/billing/PaymentProvider.ts"
import type { PolarClientOptions } from "./PolarClient.ts"
import type { PolarProducts } from "./PolarObjects.ts"

export interface PolarOptions extends PolarClientOptions {
  readonly webhookSecrets: SigningSecrets
  readonly products: PolarProducts
  /** The page of ours to which Polar leads a buyer back. */
  readonly returnUrl: string
  /** The address at which Polar delivers. */
  readonly webhookUrl: string
}
