import { Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { clientNetwork } from "../../domain/ClientAddress.ts"
import { TrustedProxies } from "../../services/TrustedProxies.ts"

/**
 * What a client without an account is counted by: its IPv4 address or IPv6 /64, as the outermost trusted proxy saw it;
 * without trusted proxies as the socket has it (R24). Undefined where a request came over no socket.
 */
export const clientAddress: Effect.Effect<string | undefined, never, HttpServerRequest.HttpServerRequest> = Effect.gen(
  function* () {
    const { headers, remoteAddress } = yield* HttpServerRequest.HttpServerRequest
    return clientNetwork(Option.getOrUndefined(remoteAddress), headers["x-forwarded-for"], yield* TrustedProxies)
  }
)
