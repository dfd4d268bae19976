import { Effect, Result } from "effect"
import type { Headers, HttpServerRequest } from "effect/http"
import { IpNetwork, NetAddress } from "effect/net"
import { parseAddress } from "../../domain/address.ts"
import { unauthorized } from "../../domain/errors.ts"
import { Deployment } from "../../services/Deployment.ts"
import { Keyless } from "../../services/Keyless.ts"
import { TrustedProxies } from "../../services/TrustedProxies.ts"
import { clientIp } from "../middleware/clientAddress.ts"
import { isCrossOrigin } from "../ownPage.ts"

/** Ends of names that the internet's DNS does not have, so that no stranger can let one lead here. */
const privateName = /(?:^|\.)(?:localhost|local|internal|lan|home\.arpa)$/

/**
 * Checks the host that a client asked for: an address, the deployment's own, or a name that is not the internet's. A page
 * whose own name leads to this machine (DNS rebinding) counts as its own site in the browser, and `Host` alone shows it.
 */
const isPrivateHost = (host: string, own: string): boolean => {
  const name = parseAddress(`http://${host}`)?.hostname
  if (name === undefined) return false
  const isAddress = name.startsWith("[") || Result.isSuccess(NetAddress.ipv4FromString(name))
  return isAddress || name === own || !name.includes(".") || privateName.test(name)
}

/** Headers of proxies. Where none is trusted, the socket's address is a proxy's and says nothing about the client. */
const proxyHeaders = ["forwarded", "via", "x-forwarded-for", "x-real-ip"]

/**
 * Makes the function that finds the principal of a request without a credential (R43). The request must come from a network
 * that the operator has named, by the address of R24, and from no page of another site: such a page could spend the credits
 * of whoever reads it.
 */
export const makeKeylessPrincipal = Effect.gen(function* () {
  const keyless = yield* Keyless
  const { origin } = yield* Deployment
  const hops = yield* TrustedProxies
  if (keyless === undefined) return () => Effect.fail(unauthorized)

  const own = new URL(origin).hostname
  const isLetIn = (headers: Headers.Headers, ip: string | undefined): boolean => {
    if (ip === undefined || isCrossOrigin(headers, origin)) return false
    if (headers.host !== undefined && !isPrivateHost(headers.host, own)) return false
    if (hops === 0 && proxyHeaders.some((name) => headers[name] !== undefined)) return false
    const address = NetAddress.ipFromStringUnsafe(ip)
    return keyless.networks.some((network) => IpNetwork.contains(network, address))
  }

  return ({ headers }: HttpServerRequest.HttpServerRequest) =>
    Effect.flatMap(clientIp, (ip) => (isLetIn(headers, ip) ? keyless.principal : Effect.fail(unauthorized)))
})
