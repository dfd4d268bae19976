import { Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"

/**
 * The client's network, from the socket and `X-Forwarded-For` (R24). A caller can forge all of the header but the entries
 * that trusted proxies appended. It is therefore read from the right, and only as many entries as there are proxies.
 */

/** The prefix that identifies a client. The other 64 bits are free to choose, so that one client has 2^64 addresses. */
const ipv6PrefixLength = 64

/** Parses an address as proxies write it: bare, in brackets, or with a port. IPv4-mapped IPv6 becomes IPv4. */
const parse = (text: string): NetAddress.IpAddress | undefined => {
  const bare = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text
  const ip = NetAddress.ipFromString(bare.split("%", 1).join(""))
  if (Result.isSuccess(ip)) return NetAddress.toCanonical(ip.success)
  const withPort = NetAddress.inetAddressFromString(text)
  return Result.isSuccess(withPort) ? NetAddress.toCanonical(withPort.success.address) : undefined
}

/** The network by which an address is counted: the IPv4 address or the IPv6 /64. */
const toNetwork = (ip: NetAddress.IpAddress): string =>
  NetAddress.isIpv4Address(ip)
    ? NetAddress.formatIp(ip)
    : IpNetwork.format(IpNetwork.fromAddressUnsafe(ip, ipv6PrefixLength))

/** The prefix that providers give to one customer. Its 2^16 subnets are free to choose. */
const sitePrefixLength = 48

/**
 * The IPv4 address or IPv6 /48 of a client's address or network, by which sign-ups are counted (R65). Undefined for
 * loopback, and for text that is neither.
 */
export const clientSite = (network: string): string | undefined => {
  const ip = parse(network.split("/", 1).join(""))
  // The network of ::1 is ::/64, in which nobody else is.
  if (ip === undefined || NetAddress.isLoopback(ip) || NetAddress.isUnspecified(ip)) return undefined
  return NetAddress.isIpv4Address(ip)
    ? NetAddress.formatIp(ip)
    : IpNetwork.format(IpNetwork.fromAddressUnsafe(ip, sitePrefixLength))
}

/** The address of a connection's other end, and the header by which proxies pass on what they saw. */
export type Seen = readonly [socketAddress: string | undefined, forwardedFor: string | undefined, trustedHops: number]

/**
 * The client behind `trustedHops` proxies, each of which appended its client's address to `X-Forwarded-For`. Where that
 * entry is missing or no address, the next entry to its right counts, and the socket's address at last. Undefined where
 * the socket has no address either.
 */
export const client = (...[socketAddress, forwardedFor, trustedHops]: Seen): NetAddress.IpAddress | undefined => {
  const appended = trustedHops === 0 ? [] : (forwardedFor ?? "").split(",").slice(-trustedHops)
  for (const entry of [...appended, socketAddress ?? ""]) {
    const ip = parse(entry.trim())
    if (ip !== undefined) return ip
  }
  return undefined
}

/** The client's network, by which requests without an account are counted. */
export const clientNetwork = (...seen: Seen): string | undefined => {
  const ip = client(...seen)
  return ip === undefined ? undefined : toNetwork(ip)
}

/** The client's whole address, which the payment provider takes to guess country and currency. */
export const clientIp = (...seen: Seen): string | undefined => {
  const ip = client(...seen)
  return ip === undefined ? undefined : NetAddress.formatIp(ip)
}

/** Headers to which each proxy appends an entry. */
const proxyLists = ["x-forwarded-for", "forwarded", "via"]

/** Headers that a proxy sets as a whole. */
const proxyValues = ["x-real-ip", "x-forwarded-host", "x-forwarded-proto"]

/**
 * Checks if a request came through a proxy other than the trusted ones. Its address is then that of a proxy, or a text of
 * the caller's own. A proxy that sets any of these headers and not `X-Forwarded-For` is not a trusted one.
 */
export const isFromUntrustedProxy = (
  headers: Readonly<Record<string, string | undefined>>,
  trustedHops: number
): boolean => {
  if (proxyLists.some((name) => (headers[name]?.split(",").length ?? 0) > trustedHops)) return true
  const isProxied = [...proxyLists, ...proxyValues].some((name) => headers[name] !== undefined)
  return isProxied && headers["x-forwarded-for"] === undefined
}
