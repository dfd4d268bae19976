import { AsyncLocalStorage } from "node:async_hooks"

export interface Requester {
  /** The client's address or network (`2001:db8::/64`). Empty if unknown. */
  readonly address: string
  /** The id of a browser in which the person of this email address has signed in before. */
  readonly browser: string | undefined
}

export interface PasswordCounts {
  readonly account: string
  /** For the requester alone. Undefined for loopback and known browsers. */
  readonly client: string | undefined
}

interface Notes {
  readonly requester: Requester
  /** By password. Computed before the sign-up's transaction, which would hold a database connection meanwhile. */
  readonly hashes: Map<string, string>
  isAdmitted: boolean
  counts: PasswordCounts | undefined
  /** True if a fresh sign-in replaces the password that the library asks for. */
  isConfirmed: boolean
  /** The key under which the request's second-factor code is counted. */
  codeKey: string | undefined
  /** The session that adds a factor. */
  adding: { readonly userId: string; readonly id: string } | undefined
  /** The ID of a person whose sign-in waits for a second factor. */
  waiting: string | undefined
}

const storage = new AsyncLocalStorage<Notes>()

export const withRequester = <A>(requester: Requester, body: () => Promise<A>): Promise<A> =>
  storage.run(
    {
      requester,
      hashes: new Map(),
      isAdmitted: false,
      counts: undefined,
      isConfirmed: false,
      codeKey: undefined,
      adding: undefined,
      waiting: undefined
    },
    body
  )

/** False outside of a request. */
export const isWaiting = (): boolean => storage.getStore()?.waiting !== undefined

export const currentNotes = (): Notes => {
  const notes = storage.getStore()
  if (notes === undefined) throw new Error("the sign-in library runs outside of a request")
  return notes
}

/** A known browser has its own key, so others at its address cannot use it up. */
export const keyOf = ({ address, browser }: Requester, email: string): string =>
  `${browser === undefined ? `address ${address}` : `browser ${browser}`} ${email}`
