import { AsyncLocalStorage } from "node:async_hooks"

/** The sender of a request, as far as it can be known before a password is right. */
export interface Requester {
  /** The client's address or network (`2001:db8::/64`); empty where it is unknown. */
  readonly address: string
  /** The id of a browser that has signed in before as the person of the request's email address. */
  readonly browser: string | undefined
}

/** The keys under which a password is counted. */
export interface PasswordCounts {
  /** Of the guesser and the account. */
  readonly account: string
  /** Of the guesser alone. Undefined for loopback, and for browsers that the account knows. */
  readonly client: string | undefined
}

/** Notes on one request of the library, for our hooks. */
interface Notes {
  readonly requester: Requester
  /**
   * Hashes by password. The library hashes a new person's password inside the transaction that makes the person. A hash
   * takes a tenth of a second, for which everybody else would wait for the connection: the embedded database has only one.
   * So a hook computes it before the transaction.
   */
  readonly hashes: Map<string, string>
  /** True when the sign-up of this request has been admitted and counted. */
  isAdmitted: boolean
  /** Of the password that is being compared. */
  counts: PasswordCounts | undefined
}

const storage = new AsyncLocalStorage<Notes>()

/** Runs a request with notes of its own. */
export const withRequester = <A>(requester: Requester, body: () => Promise<A>): Promise<A> =>
  storage.run({ requester, hashes: new Map(), isAdmitted: false, counts: undefined }, body)

/** The notes of the request in whose promises this runs. */
export const currentNotes = (): Notes => {
  const notes = storage.getStore()
  if (notes === undefined) throw new Error("the sign-in library runs outside of a request")
  return notes
}

/**
 * The key of what a requester does to an account. A browser that the account knows is counted by itself, so that nobody
 * at its address can use up its attempts.
 */
export const keyOf = ({ address, browser }: Requester, email: string): string =>
  `${browser === undefined ? `address ${address}` : `browser ${browser}`} ${email}`
