import { Context } from "effect"

/** The number of proxies in front of the service that append to `X-Forwarded-For`. 0 unless an operator sets it. */
export const TrustedProxies = Context.Reference<number>("quarry/services/TrustedProxies", { defaultValue: () => 0 })
