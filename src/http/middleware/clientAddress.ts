import { Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import * as ClientAddress from "../../domain/accounts/ClientAddress.ts"
import { TrustedProxies } from "../../services/accounts/TrustedProxies.ts"

type Sources = HttpServerRequest.HttpServerRequest | TrustedProxies

const seenBy = <A>(rule: (...seen: ClientAddress.Seen) => A, furtherHops = 0) =>
  Effect.gen(function* () {
    const { headers, remoteAddress } = yield* HttpServerRequest.HttpServerRequest
    const hops = (yield* TrustedProxies) + furtherHops
    return rule(Option.getOrUndefined(remoteAddress), headers["x-forwarded-for"], hops)
  })

/** The IPv4 address or IPv6 /64 that identifies a client without an account (R24). Undefined without a socket. */
export const clientAddress: Effect.Effect<string | undefined, never, Sources> = seenBy(ClientAddress.clientNetwork)

/** The address one hop beyond the trusted proxies, which can be forged. The client address if there is no such hop. */
export const senderAddress = seenBy(ClientAddress.clientNetwork, 1)

export const client = seenBy(ClientAddress.client)

/** The full client address. Undefined without a socket. */
export const clientIp: Effect.Effect<string | undefined, never, Sources> = seenBy(ClientAddress.clientIp)
