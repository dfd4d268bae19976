import { Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"
import { parseAddress } from "./address.ts"
import { privateNetworks } from "./Network.ts"

// Customers may make this service connect only to public addresses, because others could reach the operator's network
// or cloud metadata services. No special-purpose block (RFC 6890) counts as public, not even if it is globally reachable.

/** IANA's IPv4 registry. `privateNetworks` has its loopback, private, shared and link-local blocks. */
const closedIpv4Networks = [
  ...privateNetworks,
  ...[
    "0.0.0.0/8", // this network
    "192.0.0.0/24", // protocol assignments, such as the discovery of NAT64
    "192.0.2.0/24", // documentation
    "192.31.196.0/24", // AS112
    "192.52.193.0/24", // AMT
    "192.88.99.0/24", // relays of 6to4
    "192.175.48.0/24", // AS112
    "198.18.0.0/15", // benchmarks
    "198.51.100.0/24", // documentation
    "203.0.113.0/24", // documentation
    "224.0.0.0/3", // multicast and reserved
    // Azure's WireServer serves machine settings. Other clouds' metadata services are in blocks that are closed anyway.
    "168.63.129.16/32"
  ].map(IpNetwork.fromStringUnsafe)
]

/** The only public IPv6 range: excludes local and multicast addresses, and IPv4 translated by NAT64 (64:ff9b::/96). */
const publicIpv6Network = IpNetwork.fromStringUnsafe("2000::/3")

const closedIpv6Networks = [
  "2001::/23", // protocol assignments, among them Teredo, which holds IPv4 addresses
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4, which holds an IPv4 address
  "2620:4f:8000::/48", // AS112
  "3fff::/20" // documentation
].map(IpNetwork.fromStringUnsafe)

const isIn = (ip: NetAddress.IpAddress) => (network: IpNetwork.IpNetwork) => IpNetwork.contains(network, ip)

/** Returns true for an IP address of the public internet, false for any other text. */
export const isPublicAddress = (text: string): boolean => {
  const parsed = NetAddress.ipFromString(text)
  if (Result.isFailure(parsed)) return false
  const ip = parsed.success
  return NetAddress.isIpv4Address(ip)
    ? !closedIpv4Networks.some(isIn(ip))
    : isIn(ip)(publicIpv6Network) && !closedIpv6Networks.some(isIn(ip))
}

export const maxEndpointAddressCharacters = 2_000

/** The reason this address is not allowed as a webhook endpoint, as shown to the user. Undefined if it is allowed. */
export const addressFault = (text: string, allowsPrivate: boolean): string | undefined => {
  const url = text.length > maxEndpointAddressCharacters ? null : parseAddress(text)
  if (url === null) {
    return `must be an https address of at most ${maxEndpointAddressCharacters} characters`
  }
  if (url.protocol !== "https:" && !(allowsPrivate && url.protocol === "http:")) return "must start with https://"
  if (url.username !== "" || url.password !== "") return "must not contain a user name or password"
  if (url.hash !== "" || text.endsWith("#")) return "must not contain a fragment (#)"
  return undefined
}

export const isAddress = (host: string): boolean => Result.isSuccess(NetAddress.ipFromString(host))
