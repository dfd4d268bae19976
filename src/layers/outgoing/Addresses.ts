import { lookup, Resolver } from "node:dns/promises"
import type { LookupFunction } from "node:net"
import { Data, Effect } from "effect"
import { hostOf } from "../../domain/Network.ts"
import { isAddress, isPublicAddress } from "../../domain/publicAddress.ts"

/** The addresses of a name; none where it has none. It stops when `signal` is aborted. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<ReadonlyArray<string>>

/** A host to which this service does not connect. `reason` is for the operator. */
export class HostNotAllowed extends Data.TaggedError("HostNotAllowed")<{ readonly reason: string }> {}

export interface AddressRules {
  /** Allows the addresses of this machine and of private networks. */
  readonly allowsPrivate: boolean
  /** Answers in place of the name servers. */
  readonly resolve?: Resolve | undefined
}

const resolverTimeoutMs = 2_000
const resolverTries = 2

/** Addresses of a name that a connection tries. All are judged, and a name may have thousands. */
const maxTried = 8

/**
 * Asks the name servers without the threads that Node looks names up with: there are four for the whole process, and a
 * name whose servers are silent would hold one for many seconds.
 */
const resolvePublic: Resolve = async (host, signal) => {
  const resolver = new Resolver({ timeout: resolverTimeoutMs, tries: resolverTries })
  signal.addEventListener("abort", () => resolver.cancel())
  const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  return found.flatMap((it) => (it.status === "fulfilled" ? it.value : []))
}

/** Names of the operator's own network may stand in files of this machine. */
const resolveAny: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address)

const notPublic = new HostNotAllowed({ reason: "not all of its addresses are on the public internet" })
const noAddress = new HostNotAllowed({ reason: "its name has no address" })

/**
 * Resolves the host of a URL once and judges every address. A connection to anything but these addresses would undo the
 * judgment, because the next answer of a name server may differ: give them to `lookupIn`.
 */
export const allowedAddresses = Effect.fnUntraced(function* (url: URL, rules: AddressRules) {
  const host = hostOf(url)
  const resolve = rules.resolve ?? (rules.allowsPrivate ? resolveAny : resolvePublic)
  const addresses = isAddress(host)
    ? [host]
    : yield* Effect.tryPromise({ try: (signal) => resolve(host, signal), catch: () => noAddress })
  if (addresses.length === 0) return yield* noAddress
  // One closed address among open ones is enough: a connection may reach any of them.
  if (!rules.allowsPrivate && !addresses.every(isPublicAddress)) return yield* notPublic
  return addresses.slice(0, maxTried)
})

/** Answers Node's question for a host with these addresses, and asks nobody else. */
export const lookupIn =
  (addresses: ReadonlyArray<string>): LookupFunction =>
  (_, options, callback) => {
    const all = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
    // Node expects the answer after the call.
    process.nextTick(() => {
      if (options.all === true) callback(null, all)
      else callback(null, all[0]?.address ?? "", all[0]?.family)
    })
  }
