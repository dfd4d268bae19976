import { Context, type Effect } from "effect"
import type { NotFound } from "../../domain/errors.ts"

/** An app that a person authorized. Times are Unix milliseconds. */
export interface ConnectedApp {
  readonly id: string
  /** The name that the app chose for itself, if any. */
  readonly name: string | undefined
  readonly connectedAt: number
  /** The last time it received a token: hourly while it is used. */
  readonly renewedAt: number
}

export const maxListedApps = 100

export class ConnectedApps extends Context.Service<
  ConnectedApps,
  {
    /** The apps of the account's person, newest first, at most `maxListedApps`. */
    readonly list: (accountId: string) => Effect.Effect<ReadonlyArray<ConnectedApp>>
    /** Revokes an app's authorization and its tokens. */
    readonly end: (accountId: string, appId: string) => Effect.Effect<void, NotFound>
  }
>()("quarry/services/ConnectedApps") {}
