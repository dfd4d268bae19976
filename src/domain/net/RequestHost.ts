import { Result } from "effect"
import { NetAddress } from "effect/net"

/**
 * The name that a client used to reach a listener, from its `Host` header. With DNS rebinding, a page on the internet
 * can resolve its own name to an internal address, and only `Host` reveals this. IP addresses and names without a dot
 * are safe, because no public page has such a name.
 */

/** A name or a bracketed address, with an optional port (RFC 9110, 7.2). */
const hostPattern = /^(\[[0-9a-f:.]+\]|[^\s:/?#@[\]\\]+)(?::[0-9]*)?$/i

const isAddress = (name: string): boolean =>
  Result.isSuccess(NetAddress.ipFromString(name.startsWith("[") ? name.slice(1, -1) : name))

/** Returns true for an IP address, a name without a dot such as `localhost`, or one of `names` (lower case). */
export const isTrustedHost = (host: string, names: ReadonlySet<string>): boolean => {
  const name = hostPattern.exec(host)?.[1]?.toLowerCase()
  return name !== undefined && (names.has(name) || !name.includes(".") || isAddress(name))
}
