import { Context, type Effect } from "effect"

/** What tests do to a store that no service does. */
export class Backdoor extends Context.Service<
  Backdoor,
  {
    /** Lets the leases of an account's holds run out. */
    readonly expireHolds: (accountId: string) => Effect.Effect<void>
    readonly deleteAccount: (accountId: string) => Effect.Effect<void>
    /** Changes a figure behind the ledger's back: one credit more used, in the balance or owed, or one less logged. */
    readonly damage: (accountId: string, what: "allowance" | "balance" | "owed" | "log") => Effect.Effect<void>
  }
>()("quarry/test/support/Backdoor") {}
