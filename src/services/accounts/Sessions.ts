import { Context, Duration, type Effect, type Redacted } from "effect"
import type { SessionPrincipal } from "../../domain/accounts/Principal.ts"
import type { NotFound, Unauthorized } from "../../domain/errors.ts"

export const maxListedSessions = 100

/** Time for which a sign-in counts as fresh (R66). */
export const freshFor = Duration.minutes(10)

/** A new session ends the oldest. */
export const maxSessions = 20

/** Times are Unix milliseconds. */
export interface OpenSession {
  /** Not the secret in the cookie. */
  readonly id: string
  readonly createdAt: number
  /** The last extension: daily while it is used. */
  readonly extendedAt: number
  readonly expiresAt: number
  /** The `User-Agent` header. */
  readonly userAgent: string | undefined
}

/** Sessions of people. `SignIn` opens them. */
export class Sessions extends Context.Service<
  Sessions,
  {
    /** With the prefix `__Secure-` if clients use https. */
    readonly cookieName: string
    /** All invalid cookies fail alike. A session that has ended is rejected by every replica at once. */
    readonly authenticate: (cookie: Redacted.Redacted) => Effect.Effect<SessionPrincipal, Unauthorized>
    /** Newest first, at most `maxListedSessions`. */
    readonly list: (personId: string) => Effect.Effect<ReadonlyArray<OpenSession>>
    /** Apps authorized in the session keep their access. */
    readonly end: (personId: string, sessionId: string) => Effect.Effect<void, NotFound>
    /** Ends the session that an email about its sign-in links to. False if the link is not valid. */
    readonly endByLink: (token: Redacted.Redacted) => Effect.Effect<boolean>
    /** Ends all access to an account. Removes people who are members of no other: identities and address. */
    readonly forget: (accountId: string) => Effect.Effect<void>
  }
>()("quarry/services/accounts/Sessions") {}
