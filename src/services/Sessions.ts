import { Context, type Effect, type Redacted } from "effect"
import type { NotFound, Unauthorized } from "../domain/errors.ts"
import type { SessionPrincipal } from "../domain/Principal.ts"

export const maxListedSessions = 100

/** Live sessions of a person. One more ends the oldest. */
export const maxSessions = 20

/** A session that has neither ended nor expired. Times are Unix milliseconds. */
export interface OpenSession {
  /** Not the secret in the cookie. */
  readonly id: string
  readonly createdAt: number
  /** Extended at its last use, once a day. */
  readonly extendedAt: number
  readonly expiresAt: number
  /** The browser's own description of itself; undefined when it sent none. */
  readonly userAgent: string | undefined
}

/** The sessions of people: the cookie as a credential, and its end. `SignIn` opens them. */
export class Sessions extends Context.Service<
  Sessions,
  {
    /** Name of the session cookie: with the prefix `__Secure-` where clients use https. */
    readonly cookieName: string
    /**
     * Authenticates the value of a session cookie, percent-encoded or not. Unknown, expired, forged and ended sessions
     * fail alike. A session that ends at one replica fails at once at every replica.
     */
    readonly authenticate: (cookie: Redacted.Redacted) => Effect.Effect<SessionPrincipal, Unauthorized>
    /** The open sessions of an account's person, the latest first: at most `maxListedSessions`. */
    readonly list: (accountId: string) => Effect.Effect<ReadonlyArray<OpenSession>>
    /** Ends one session of the account's person. Apps that were let in with it stay. */
    readonly end: (accountId: string, sessionId: string) => Effect.Effect<void, NotFound>
    /** Removes the person behind an account: sessions, identities and address. */
    readonly forget: (accountId: string) => Effect.Effect<void>
  }
>()("quarry/services/Sessions") {}
