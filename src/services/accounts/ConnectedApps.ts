import { Context, type Effect } from "effect"
import type { SessionPrincipal } from "../../domain/accounts/Principal.ts"
import type { NotFound } from "../../domain/errors.ts"

/** Times are Unix milliseconds. */
export interface ConnectedApp {
  readonly id: string
  /** The name that the app chose for itself, if any. */
  readonly name: string | undefined
  /** The host that publishes the app's metadata document. Undefined for an app that registered itself. */
  readonly verifiedHost: string | undefined
  /** The credits that the app may spend each UTC day. Undefined if only the account limits it. */
  readonly dailyCredits: number | undefined
  readonly connectedAt: number
  /** The last time the app received a token: hourly while it is in use. */
  readonly renewedAt: number
}

export const maxListedApps = 100

/** A person in one of their accounts. */
export interface PersonInAccount extends Pick<SessionPrincipal, "personId"> {
  readonly accountId: string
}

export class ConnectedApps extends Context.Service<
  ConnectedApps,
  {
    /** Newest first, at most `maxListedApps`. */
    readonly list: (person: PersonInAccount) => Effect.Effect<ReadonlyArray<ConnectedApp>>
    /** Sets the app's daily credits; undefined removes the limit. Takes effect immediately. */
    readonly limit: (accountId: string, clientId: string, dailyCredits: number | undefined) => Effect.Effect<void>
    /** Disconnects the app and revokes its tokens. */
    readonly end: (person: PersonInAccount, appId: string) => Effect.Effect<void, NotFound>
  }
>()("quarry/services/accounts/ConnectedApps") {}
