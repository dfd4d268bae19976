import { Effect } from "effect"
import type { Headers, HttpServerRequest } from "effect/http"
import { IpNetwork, NetAddress } from "effect/net"
import * as ClientAddress from "../domain/accounts/ClientAddress.ts"
import { unauthorized } from "../domain/errors.ts"
import { isTrustedHost } from "../domain/net/RequestHost.ts"
import { clientIp } from "../http/middleware/clientAddress.ts"
import { isCrossOrigin } from "../http/ownPage.ts"
import { Keyless } from "../services/accounts/Keyless.ts"
import { TrustedProxies } from "../services/accounts/TrustedProxies.ts"
import { Deployment } from "../services/operations/Deployment.ts"

/** Rejects clients outside the operator's networks (R43), and other sites' pages, which could spend the credits. */
export const makeKeylessPrincipal = Effect.gen(function* () {
  const keyless = yield* Keyless
  const { origin } = yield* Deployment
  const hops = yield* TrustedProxies
  if (keyless === undefined) return () => Effect.fail(unauthorized)

  const own = new Set([new URL(origin).hostname])
  const isLetIn = (headers: Headers.Headers, ip: string | undefined): boolean => {
    if (ip === undefined || isCrossOrigin(headers, origin)) return false
    if (headers.host !== undefined && !isTrustedHost(headers.host, own)) return false
    if (ClientAddress.isFromUntrustedProxy(headers, hops)) return false
    const address = NetAddress.ipFromStringUnsafe(ip)
    return keyless.networks.some((network) => IpNetwork.contains(network, address))
  }

  return ({ headers }: HttpServerRequest.HttpServerRequest) =>
    Effect.flatMap(Effect.provideService(clientIp, TrustedProxies, hops), (ip) =>
      isLetIn(headers, ip) ? keyless.principal : Effect.fail(unauthorized)
    )
})
