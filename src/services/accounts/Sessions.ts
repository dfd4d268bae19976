import { Context, type Effect, type Redacted } from "effect"
import type { SessionPrincipal } from "../../domain/accounts/Principal.ts"
import type { NotFound, Unauthorized } from "../../domain/errors.ts"

export const maxListedSessions = 100

/** A further session ends the oldest. */
export const maxSessions = 20

/** Times are Unix milliseconds. */
export interface OpenSession {
  /** Not the secret in the cookie. */
  readonly id: string
  readonly createdAt: number
  readonly extendedAt: number
  readonly expiresAt: number
  readonly userAgent: string | undefined
}

export class Sessions extends Context.Service<
  Sessions,
  {
    /** With the prefix `__Secure-` if clients use https. */
    readonly cookieName: string
    /** All invalid cookies fail alike. A session that has ended is rejected by every replica at once. */
    readonly authenticate: (cookie: Redacted.Redacted) => Effect.Effect<SessionPrincipal, Unauthorized>
    readonly list: (accountId: string) => Effect.Effect<ReadonlyArray<OpenSession>>
    /** Apps authorized in the session keep their access. */
    readonly end: (accountId: string, sessionId: string) => Effect.Effect<void, NotFound>
    readonly forget: (accountId: string) => Effect.Effect<void>
  }
>()("quarry/services/Sessions") {}
