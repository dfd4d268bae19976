import { Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"

/**
 * Where a request comes from, as arithmetic on text (R24). The header is the caller's own writing up to what the
 * trusted proxies appended, so it is read from the right and no further than they reach.
 */

/** The interface part of an IPv6 address is its owner's to choose: 64 bits of it would be as many callers. */
const ipv6PrefixLength = 64

/** An address as proxies write it: bare, in brackets, or with a port. IPv4-mapped IPv6 addresses are IPv4. */
const parse = (text: string): NetAddress.IpAddress | undefined => {
  const bare = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text
  const ip = NetAddress.ipFromString(bare.split("%", 1).join(""))
  if (Result.isSuccess(ip)) return NetAddress.toCanonical(ip.success)
  const withPort = NetAddress.inetAddressFromString(text)
  return Result.isSuccess(withPort) ? NetAddress.toCanonical(withPort.success.address) : undefined
}

/** The network that an address is metered by: the IPv4 address, or the IPv6 /64; undefined when it is no address. */
export const networkOf = (address: string): string | undefined => {
  const ip = parse(address)
  if (ip === undefined) return undefined
  return NetAddress.isIpv4Address(ip)
    ? NetAddress.formatIp(ip)
    : IpNetwork.format(IpNetwork.fromAddressUnsafe(ip, ipv6PrefixLength))
}

/**
 * The client's network behind `trustedHops` proxies, each of which appended the address it was called from to
 * `X-Forwarded-For`. Where an entry is missing or no address, the next nearer one counts: whoever comes round a proxy
 * or through one that hides its callers is metered as what called us. Undefined when not even the socket has one.
 */
export const clientNetwork = (
  socketAddress: string | undefined,
  forwardedFor: string | undefined,
  trustedHops: number
): string | undefined => {
  const appended = trustedHops === 0 ? [] : (forwardedFor ?? "").split(",").slice(-trustedHops)
  for (const entry of [...appended, socketAddress ?? ""]) {
    const network = networkOf(entry.trim())
    if (network !== undefined) return network
  }
  return undefined
}
