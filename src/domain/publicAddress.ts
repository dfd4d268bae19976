import { Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"
import { parseAddress } from "./address.ts"
import { privateNetworks } from "./Network.ts"

/*
 * The addresses to which a customer may make this service connect. Everything else leads into the operator's own networks:
 * loopback, private and link-local ones, those of a provider's translation, and the services of a cloud's machines.
 *
 * Every block of IANA's special-purpose registries (RFC 6890) is closed, even a globally reachable one: no receiver of
 * events is in any of them.
 */

/** The IPv4 registry. `privateNetworks` has its loopback, private, shared and link-local blocks. */
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
    // Azure's WireServer, which gives each of its machines its settings. The metadata services of other clouds are in the
    // networks above, or for IPv6 in fc00::/7 and fe80::/10.
    "168.63.129.16/32"
  ].map(IpNetwork.fromStringUnsafe)
]

/**
 * IPv6 is public in this network alone. Outside it are unique local, link-local and multicast addresses, and IPv4 addresses
 * that are mapped, compatible or translated (NAT64: 64:ff9b::/96 and 64:ff9b:1::/48).
 */
const publicIpv6Network = IpNetwork.fromStringUnsafe("2000::/3")

/** The blocks of the IPv6 registry inside it. */
const closedIpv6Networks = [
  "2001::/23", // protocol assignments, among them Teredo, which holds IPv4 addresses
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4, which holds an IPv4 address
  "2620:4f:8000::/48", // AS112
  "3fff::/20" // documentation
].map(IpNetwork.fromStringUnsafe)

const isIn = (ip: NetAddress.IpAddress) => (network: IpNetwork.IpNetwork) => IpNetwork.contains(network, ip)

/** True for an address of the public internet. A text that is no address is none of it. */
export const isPublicAddress = (text: string): boolean => {
  const parsed = NetAddress.ipFromString(text)
  if (Result.isFailure(parsed)) return false
  const ip = parsed.success
  return NetAddress.isIpv4Address(ip)
    ? !closedIpv4Networks.some(isIn(ip))
    : isIn(ip)(publicIpv6Network) && !closedIpv6Networks.some(isIn(ip))
}

export const maxEndpointAddressCharacters = 2_000

/** The reason why an endpoint cannot have this address, for the person who gives it; undefined for one that it can. */
export const addressFault = (text: string, allowsPrivate: boolean): string | undefined => {
  const url = text.length > maxEndpointAddressCharacters ? null : parseAddress(text)
  if (url === null) {
    return `must be an https address of at most ${maxEndpointAddressCharacters} characters`
  }
  if (url.protocol !== "https:" && !(allowsPrivate && url.protocol === "http:")) return "must begin with https://"
  if (url.username !== "" || url.password !== "") return "must have no user and no password in it"
  if (url.hash !== "" || text.endsWith("#")) return "must have no part after #"
  return undefined
}

/** True for a host that is written as an address, for which nothing is looked up. */
export const isAddress = (host: string): boolean => Result.isSuccess(NetAddress.ipFromString(host))
