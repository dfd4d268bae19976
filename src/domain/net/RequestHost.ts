import { Result } from "effect"
import { NetAddress } from "effect/net"

// With DNS rebinding, a page's own name resolves to an internal address, and only `Host` reveals it. IP addresses and
// names without a dot are safe, because no page on the internet has such a name.

const hostPattern = /^(\[[0-9a-f:.]+\]|[^\s:/?#@[\]\\]+)(?::[0-9]*)?$/i

const isAddress = (name: string): boolean =>
  Result.isSuccess(NetAddress.ipFromString(name.startsWith("[") ? name.slice(1, -1) : name))

/** `names` must be in lower case. */
export const isTrustedHost = (host: string, names: ReadonlySet<string>): boolean => {
  const name = hostPattern.exec(host)?.[1]?.toLowerCase()
  return name !== undefined && (names.has(name) || !name.includes(".") || isAddress(name))
}
