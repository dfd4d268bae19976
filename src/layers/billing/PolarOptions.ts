import type { SigningSecrets } from "../../services/billing/PaymentProvider.ts"
import type { PolarClientOptions } from "./PolarClient.ts"
import type { PolarProducts } from "./PolarObjects.ts"

export interface PolarOptions extends PolarClientOptions {
  readonly webhookSecrets: SigningSecrets
  readonly products: PolarProducts
  readonly returnUrl: string
  readonly webhookUrl: string
}
