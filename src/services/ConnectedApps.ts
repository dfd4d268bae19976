import { Context, type Effect } from "effect"
import type { NotFound } from "../domain/errors.ts"

/** An app that a person let in, and that can still act for them. Times are Unix milliseconds. */
export interface ConnectedApp {
  readonly id: string
  /** The name that the app chose itself; undefined when it chose none. */
  readonly name: string | undefined
  readonly connectedAt: number
  /** The last moment at which it got a token: once an hour while it is used. */
  readonly renewedAt: number
}

export const maxListedApps = 100

/** The apps that a person let in by OAuth. */
export class ConnectedApps extends Context.Service<
  ConnectedApps,
  {
    /** The apps of an account's person, the latest first: at most `maxListedApps`. */
    readonly list: (accountId: string) => Effect.Effect<ReadonlyArray<ConnectedApp>>
    /** Ends the tokens of one app for the account's person, and forgets that it was let in. */
    readonly end: (accountId: string, appId: string) => Effect.Effect<void, NotFound>
  }
>()("quarry/services/ConnectedApps") {}
