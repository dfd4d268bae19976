import { Context } from "effect"

/** The number of trusted proxies that append to `X-Forwarded-For`. */
export class TrustedProxies extends Context.Service<TrustedProxies, number>()(
  "quarry/services/accounts/TrustedProxies"
) {}
