import { Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"

/**
 * The client's network, from the socket and `X-Forwarded-For` (R24). Callers can forge any entry except those appended
 * by trusted proxies, so that the header is read from the right, one entry per trusted proxy.
 */

/** The prefix that identifies a client. A client can choose the other 64 bits freely. */
const ipv6PrefixLength = 64

/** Accepts the forms that proxies write: bare, in brackets, or with a port. IPv4-mapped IPv6 becomes IPv4. */
const parse = (text: string): NetAddress.IpAddress | undefined => {
  const bare = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text
  const ip = NetAddress.ipFromString(bare.split("%", 1).join(""))
  if (Result.isSuccess(ip)) return NetAddress.toCanonical(ip.success)
  const withPort = NetAddress.inetAddressFromString(text)
  return Result.isSuccess(withPort) ? NetAddress.toCanonical(withPort.success.address) : undefined
}

const toNetwork = (ip: NetAddress.IpAddress): string =>
  NetAddress.isIpv4Address(ip)
    ? NetAddress.formatIp(ip)
    : IpNetwork.format(IpNetwork.fromAddressUnsafe(ip, ipv6PrefixLength))

/** The prefix that internet providers assign to one customer. */
const sitePrefixLength = 48

/** The IPv4 address or IPv6 /48 that sign-ups are counted by (R65). Undefined for loopback and other text. */
export const clientSite = (network: string): string | undefined => {
  const ip = parse(network.split("/", 1).join(""))
  // The network of ::1 is ::/64, which only loopback uses.
  if (ip === undefined || NetAddress.isLoopback(ip) || NetAddress.isUnspecified(ip)) return undefined
  return NetAddress.isIpv4Address(ip)
    ? NetAddress.formatIp(ip)
    : IpNetwork.format(IpNetwork.fromAddressUnsafe(ip, sitePrefixLength))
}

/** The address of the socket, `X-Forwarded-For`, and the number of trusted proxies. */
export type Seen = readonly [socketAddress: string | undefined, forwardedFor: string | undefined, trustedHops: number]

/**
 * The client behind `trustedHops` proxies, each of which appends the address it saw. If that entry is missing or
 * invalid, the entries to its right and finally the socket's address are used.
 */
export const client = (...[socketAddress, forwardedFor, trustedHops]: Seen): NetAddress.IpAddress | undefined => {
  const appended = trustedHops === 0 ? [] : (forwardedFor ?? "").split(",").slice(-trustedHops)
  for (const entry of [...appended, socketAddress ?? ""]) {
    const ip = parse(entry.trim())
    if (ip !== undefined) return ip
  }
  return undefined
}

/** The network by which requests without an account are counted. */
export const clientNetwork = (...seen: Seen): string | undefined => {
  const ip = client(...seen)
  return ip === undefined ? undefined : toNetwork(ip)
}

/** The full address, from which the payment provider guesses country and currency. */
export const clientIp = (...seen: Seen): string | undefined => {
  const ip = client(...seen)
  return ip === undefined ? undefined : NetAddress.formatIp(ip)
}

const proxyLists = ["x-forwarded-for", "forwarded", "via"]

const proxyValues = ["x-real-ip", "x-forwarded-host", "x-forwarded-proto"]

/**
 * Returns true if a request came through an untrusted proxy, so that its address is the proxy's or was chosen by the
 * caller. A proxy that sets one of these headers without `X-Forwarded-For` is not trusted either.
 */
export const isFromUntrustedProxy = (
  headers: Readonly<Record<string, string | undefined>>,
  trustedHops: number
): boolean => {
  if (proxyLists.some((name) => (headers[name]?.split(",").length ?? 0) > trustedHops)) return true
  const isProxied = [...proxyLists, ...proxyValues].some((name) => headers[name] !== undefined)
  return isProxied && headers["x-forwarded-for"] === undefined
}
