import { Context, type Effect } from "effect"
import type { NotFound } from "../../domain/errors.ts"

/** Times are Unix milliseconds. */
export interface ConnectedApp {
  readonly id: string
  /** Chosen by the app, not verified. */
  readonly name: string | undefined
  /** The host that publishes the app's metadata document. Undefined for an app that registered itself. */
  readonly verifiedHost: string | undefined
  /** Per UTC day. Undefined if only the account limits the app. */
  readonly dailyCredits: number | undefined
  readonly connectedAt: number
  readonly renewedAt: number
}

export const maxListedApps = 100

export class ConnectedApps extends Context.Service<
  ConnectedApps,
  {
    /** Newest first, at most `maxListedApps`. */
    readonly list: (accountId: string) => Effect.Effect<ReadonlyArray<ConnectedApp>>
    readonly limit: (accountId: string, clientId: string, dailyCredits: number | undefined) => Effect.Effect<void>
    /** Also revokes its tokens. */
    readonly end: (accountId: string, appId: string) => Effect.Effect<void, NotFound>
  }
>()("quarry/services/ConnectedApps") {}
