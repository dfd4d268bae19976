import { Option, Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"

/** Accepts CIDR or a single address. IPv4-mapped networks become IPv4, like the addresses they are compared with. */
export const parseNetwork = (text: string): IpNetwork.IpNetwork | undefined => {
  const network = text.includes("/")
    ? IpNetwork.fromString(text)
    : Result.flatMap(NetAddress.ipFromString(text), (ip) => IpNetwork.make(ip, NetAddress.width(ip)))
  if (Result.isFailure(network)) return undefined
  const { address, prefixLength } = network.success
  if (NetAddress.isIpv4Address(address) || !NetAddress.isIpv4Mapped(address) || prefixLength < 96) {
    return network.success
  }
  return Option.getOrUndefined(Result.getSuccess(IpNetwork.make(NetAddress.toCanonical(address), prefixLength - 96)))
}

export const loopbackNetworks: ReadonlyArray<IpNetwork.IpNetwork> = ["127.0.0.0/8", "::1/128"].map(
  IpNetwork.fromStringUnsafe
)

export const privateNetworks: ReadonlyArray<IpNetwork.IpNetwork> = [
  ...loopbackNetworks,
  ...["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16", "fc00::/7", "fe80::/10"].map(
    IpNetwork.fromStringUnsafe
  )
]

export const isPrivateNetwork = (network: IpNetwork.IpNetwork): boolean =>
  privateNetworks.some((reserved) => IpNetwork.containsNetwork(reserved, network))

export const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, "$1")

export const isLoopbackHost = (host: string): boolean => {
  const address = NetAddress.ipFromString(host)
  return Result.isSuccess(address) ? NetAddress.isLoopback(address.success) : host.toLowerCase() === "localhost"
}
