import { Context } from "effect"

/** How many proxies in front of the service append to `X-Forwarded-For` what they saw. None unless an operator says so. */
export const TrustedProxies = Context.Reference<number>("quarry/services/TrustedProxies", { defaultValue: () => 0 })
