import { Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"
import { partBefore } from "../text.ts"

// Trusted proxies append to the right end of `X-Forwarded-For`. Callers can forge the other entries (R24).

/** The prefix that identifies a client, who can choose the other 64 bits freely. */
const ipv6PrefixLength = 64

/** Accepts what proxies write: a bare or bracketed address, with or without a port. IPv4-mapped IPv6 becomes IPv4. */
const parse = (text: string): NetAddress.IpAddress | undefined => {
  const bare = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text
  const ip = NetAddress.ipFromString(partBefore(bare, "%"))
  if (Result.isSuccess(ip)) return NetAddress.toCanonical(ip.success)
  const withPort = NetAddress.inetAddressFromString(text)
  return Result.isSuccess(withPort) ? NetAddress.toCanonical(withPort.success.address) : undefined
}

const toNetwork = (ip: NetAddress.IpAddress): string =>
  NetAddress.isIpv4Address(ip)
    ? NetAddress.formatIp(ip)
    : IpNetwork.format(IpNetwork.fromAddressUnsafe(ip, ipv6PrefixLength))

/** The prefix that internet providers assign to a customer. */
const sitePrefixLength = 48

/** The IPv4 address or IPv6 /48 by which sign-ups are counted (R65). Undefined for loopback and invalid text. */
export const clientSite = (network: string): string | undefined => {
  const ip = parse(partBefore(network, "/"))
  // `::/64`, the network of `::1`, is only used by loopback.
  if (ip === undefined || NetAddress.isLoopback(ip) || NetAddress.isUnspecified(ip)) return undefined
  return NetAddress.isIpv4Address(ip)
    ? NetAddress.formatIp(ip)
    : IpNetwork.format(IpNetwork.fromAddressUnsafe(ip, sitePrefixLength))
}

export type Seen = readonly [socketAddress: string | undefined, forwardedFor: string | undefined, trustedHops: number]

/** The client behind `trustedHops` proxies. If its entry is missing or invalid, uses the next one to the right. */
export const client = (...[socketAddress, forwardedFor, trustedHops]: Seen): NetAddress.IpAddress | undefined => {
  const appended = trustedHops === 0 ? [] : (forwardedFor ?? "").split(",").slice(-trustedHops)
  for (const entry of [...appended, socketAddress ?? ""]) {
    const ip = parse(entry.trim())
    if (ip !== undefined) return ip
  }
  return undefined
}

export const clientNetwork = (...seen: Seen): string | undefined => {
  const ip = client(...seen)
  return ip === undefined ? undefined : toNetwork(ip)
}

export const clientIp = (...seen: Seen): string | undefined => {
  const ip = client(...seen)
  return ip === undefined ? undefined : NetAddress.formatIp(ip)
}

const proxyLists = ["x-forwarded-for", "forwarded", "via"]

const proxyValues = ["x-real-ip", "x-forwarded-host", "x-forwarded-proto"]

/** True if a request came through an untrusted proxy. Its address may be the proxy's, or forged by the caller. */
export const isFromUntrustedProxy = (
  headers: Readonly<Record<string, string | undefined>>,
  trustedHops: number
): boolean => {
  if (proxyLists.some((name) => (headers[name]?.split(",").length ?? 0) > trustedHops)) return true
  const isProxied = [...proxyLists, ...proxyValues].some((name) => headers[name] !== undefined)
  return isProxied && headers["x-forwarded-for"] === undefined
}
