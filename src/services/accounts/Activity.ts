import { Context, type Effect, type Schema } from "effect"
import type { ActivityQuery } from "../../domain/accounts/ActivityQuery.ts"
import type { Position } from "../../domain/log/QueryHistory.ts"

export interface AccountEvent {
  readonly id: string
  readonly at: number
  /** The object and the action, as in `key.created`. */
  readonly type: string
  /** A person's email address, the ID of a key, or `operator`. Null if nobody acted, as when a payment arrives. */
  readonly actor: string | null
  readonly address: string | null
  readonly browser: string | null
  readonly changes: Schema.JsonObject
}

export interface ActivityPage {
  readonly entries: ReadonlyArray<AccountEvent>
  readonly next: Position | undefined
}

/** The record of who did what in an account (R68). Triggers write events in the transaction of the change. */
export class Activity extends Context.Service<
  Activity,
  {
    /** Records an act of `CurrentRequester` that changes nothing, such as an export. `changes` must not have secrets. */
    readonly record: (accountId: string, type: string, changes: Schema.JsonObject) => Effect.Effect<void>
    /** A page of events, newest first, with the rules of `QueryLog.history`. */
    readonly page: (accountId: string, query: ActivityQuery) => Effect.Effect<ActivityPage>
  }
>()("quarry/services/accounts/Activity") {}
