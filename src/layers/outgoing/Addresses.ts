import { lookup, Resolver } from "node:dns/promises"
import type { LookupFunction } from "node:net"
import { Data, Effect } from "effect"
import { hostOf } from "../../domain/net/Network.ts"
import { isAddress, isPublicAddress } from "../../domain/net/publicAddress.ts"

export type Resolve = (host: string, signal: AbortSignal) => Promise<ReadonlyArray<string>>

/** `reason` is for the operator. `isUnresolved` means that no address was found to check. */
export class HostNotAllowed extends Data.TaggedError("HostNotAllowed")<{
  readonly reason: string
  readonly isUnresolved: boolean
}> {}

export interface AddressRules {
  readonly allowsPrivate: boolean
  readonly resolve?: Resolve | undefined
  readonly isPublic?: ((address: string) => boolean) | undefined
}

const resolverTimeoutMs = 2_000
const resolverTries = 2

/** Maximum addresses tried per connection. A name may have thousands. */
const maxTried = 8

/** Avoids Node's `lookup`, whose four threads serve the whole process and block for seconds on silent name servers. */
const resolvePublic: Resolve = async (host, signal) => {
  const resolver = new Resolver({ timeout: resolverTimeoutMs, tries: resolverTries })
  signal.addEventListener("abort", () => resolver.cancel())
  const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  return found.flatMap((result) => (result.status === "fulfilled" ? result.value : []))
}

/** Uses the system's lookup, because names of a private network may be defined in this machine's hosts file. */
const resolveAny: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address)

const notPublic = new HostNotAllowed({
  reason: "not all of its addresses are on the public internet",
  isUnresolved: false
})
const noAddress = new HostNotAllowed({ reason: "its name has no address", isUnresolved: true })

/** Names that always mean this machine, even if name servers do not know them (RFC 6761, 6.3). */
const isLoopbackName = (host: string): boolean => /(?:^|\.)localhost\.?$/i.test(host)

/** Resolves and checks once. Connect only with `lookupIn`: a second lookup may return an unchecked address. */
export const allowedAddresses = Effect.fnUntraced(function* (url: URL, rules: AddressRules) {
  const host = hostOf(url)
  if (!rules.allowsPrivate && isLoopbackName(host)) return yield* notPublic
  const resolve = rules.resolve ?? (rules.allowsPrivate ? resolveAny : resolvePublic)
  const addresses = isAddress(host)
    ? [host]
    : yield* Effect.tryPromise({ try: (signal) => resolve(host, signal), catch: () => noAddress })
  if (addresses.length === 0) return yield* noAddress
  // A single private address blocks the host, because a connection may use any of the addresses.
  if (!rules.allowsPrivate && !addresses.every(rules.isPublic ?? isPublicAddress)) return yield* notPublic
  return addresses.slice(0, maxTried)
})

export const lookupIn =
  (addresses: ReadonlyArray<string>): LookupFunction =>
  (_, options, callback) => {
    const all = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
    // Node expects the callback to run asynchronously.
    process.nextTick(() => {
      if (options.all === true) callback(null, all)
      else callback(null, all[0]?.address ?? "", all[0]?.family)
    })
  }
