import { AsyncLocalStorage } from "node:async_hooks"

/** The sender of a request, before the password has been checked. */
export interface Requester {
  /** The client's address or network (`2001:db8::/64`). Empty if unknown. */
  readonly address: string
  /** The id of a browser in which the person of this email address has signed in before. */
  readonly browser: string | undefined
}

export interface PasswordCounts {
  /** For the requester and the account. */
  readonly account: string
  /** For the requester alone. Undefined for loopback and known browsers. */
  readonly client: string | undefined
}

/** State of one library request, for our hooks. */
interface Notes {
  readonly requester: Requester
  /** Hashes by password, computed before the sign-up's transaction to keep its database connection free meanwhile. */
  readonly hashes: Map<string, string>
  isAdmitted: boolean
  /** For the password being compared. */
  counts: PasswordCounts | undefined
}

const storage = new AsyncLocalStorage<Notes>()

export const withRequester = <A>(requester: Requester, body: () => Promise<A>): Promise<A> =>
  storage.run({ requester, hashes: new Map(), isAdmitted: false, counts: undefined }, body)

/** The notes of the current request, found by its async context. */
export const currentNotes = (): Notes => {
  const notes = storage.getStore()
  if (notes === undefined) throw new Error("the sign-in library runs outside of a request")
  return notes
}

/** The key for a requester and an account. A known browser has its own, so others at its address cannot use it up. */
export const keyOf = ({ address, browser }: Requester, email: string): string =>
  `${browser === undefined ? `address ${address}` : `browser ${browser}`} ${email}`
