import { Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import * as ClientAddress from "../../domain/ClientAddress.ts"
import { TrustedProxies } from "../../services/TrustedProxies.ts"

/** Applies a rule of `ClientAddress` to the request: the address that the outermost trusted proxy saw, else the socket's. */
const seenBy = <A>(rule: (...seen: ClientAddress.Seen) => A, furtherHops = 0) =>
  Effect.gen(function* () {
    const { headers, remoteAddress } = yield* HttpServerRequest.HttpServerRequest
    const hops = (yield* TrustedProxies) + furtherHops
    return rule(Option.getOrUndefined(remoteAddress), headers["x-forwarded-for"], hops)
  })

/**
 * The IPv4 address or IPv6 /64 by which a client without an account is counted (R24). Undefined for requests without a
 * socket.
 */
export const clientAddress: Effect.Effect<string | undefined, never, HttpServerRequest.HttpServerRequest> = seenBy(
  ClientAddress.clientNetwork
)

/** The same by one more hop than is trusted, which may be invented. The client address where there is no such hop. */
export const senderAddress = seenBy(ClientAddress.clientNetwork, 1)

/** `clientIp` as it is compared with networks. */
export const client = seenBy(ClientAddress.client)

/** The client's whole address. Undefined for requests without a socket. */
export const clientIp: Effect.Effect<string | undefined, never, HttpServerRequest.HttpServerRequest> = seenBy(
  ClientAddress.clientIp
)
