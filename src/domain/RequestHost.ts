import { Result } from "effect"
import { NetAddress } from "effect/net"

/**
 * The name by which a client reached a listener, from its `Host` header. A page can let its own name lead to any address
 * (DNS rebinding): the browser then takes what a listener on this network answers for the page's own, and `Host` alone
 * shows the name. Addresses and names without a dot are safe, because no page of the internet has one.
 */

/** A name or an address in brackets, and a port (RFC 9110, 7.2). */
const hostPattern = /^(\[[0-9a-f:.]+\]|[^\s:/?#@[\]\\]+)(?::[0-9]*)?$/i

const isAddress = (name: string): boolean =>
  Result.isSuccess(NetAddress.ipFromString(name.startsWith("[") ? name.slice(1, -1) : name))

/** Checks a `Host` header: an address, a name without a dot such as `localhost`, or one of these names in lower case. */
export const isTrustedHost = (host: string, names: ReadonlySet<string>): boolean => {
  const name = hostPattern.exec(host)?.[1]?.toLowerCase()
  return name !== undefined && (names.has(name) || !name.includes(".") || isAddress(name))
}
