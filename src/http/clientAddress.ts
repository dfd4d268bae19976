import { Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { TrustedProxies } from "../services/TrustedProxies.ts"

/**
 * The client's address as the outermost trusted proxy saw it; without trusted proxies the socket's. What stands further
 * left in `X-Forwarded-For` anybody can write there (R24). Undefined where a request came over no socket.
 */
export const clientAddress: Effect.Effect<string | undefined, never, HttpServerRequest.HttpServerRequest> = Effect.gen(
  function* () {
    const { headers, remoteAddress } = yield* HttpServerRequest.HttpServerRequest
    const forwarded = (headers["x-forwarded-for"] ?? "").split(",").map((address) => address.trim())
    const path = [...forwarded.filter((address) => address !== ""), Option.getOrUndefined(remoteAddress)]
    return path.at(-1 - (yield* TrustedProxies)) ?? path[0]
  }
)
