import { Context } from "effect"

/** The number of trusted proxies that append to `X-Forwarded-For`. */
export const TrustedProxies = Context.Reference<number>("quarry/services/accounts/TrustedProxies", {
  defaultValue: () => 0
})
