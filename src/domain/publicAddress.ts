import { Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"
import { parseAddress } from "./address.ts"
import { privateNetworks } from "./Network.ts"

/*
 * The addresses to which a customer may make this service connect. Everything else leads into the operator's own networks:
 * loopback, private and link-local ones, those of a provider's translation, and the services of a cloud's machines.
 */

/** All of IPv4 that is not public: the private networks, and the others in the registry of RFC 6890 and after it. */
const closedIpv4Networks = [
  ...privateNetworks,
  ...[
    "0.0.0.0/8",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/3"
  ].map(IpNetwork.fromStringUnsafe)
]

/** IPv6 is public in this network alone, so that unique local, link-local and mapped addresses are outside. */
const publicIpv6Network = IpNetwork.fromStringUnsafe("2000::/3")

/** Parts of it that are special, or have an IPv4 address inside: Teredo and others, documentation, 6to4. */
const closedIpv6Networks = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"].map(IpNetwork.fromStringUnsafe)

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
