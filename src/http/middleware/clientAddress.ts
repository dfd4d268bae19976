import { Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { clientNetwork } from "../../domain/ClientAddress.ts"
import { TrustedProxies } from "../../services/TrustedProxies.ts"

/**
 * The IPv4 address or IPv6 /64 by which a client without an account is counted (R24). It is the one that the outermost
 * trusted proxy saw, or the socket's without trusted proxies. Undefined for requests without a socket.
 */
export const clientAddress: Effect.Effect<string | undefined, never, HttpServerRequest.HttpServerRequest> = Effect.gen(
  function* () {
    const { headers, remoteAddress } = yield* HttpServerRequest.HttpServerRequest
    return clientNetwork(Option.getOrUndefined(remoteAddress), headers["x-forwarded-for"], yield* TrustedProxies)
  }
)
