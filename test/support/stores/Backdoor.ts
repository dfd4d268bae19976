import { Context, type Effect } from "effect"

/** Manipulates a store in ways that no service allows. */
export class Backdoor extends Context.Service<
  Backdoor,
  {
    /** Expires an account's holds. */
    readonly expireHolds: (accountId: string) => Effect.Effect<void>
    readonly deleteAccount: (accountId: string) => Effect.Effect<void>
    /** Falsifies a figure: one credit more in used credits, balance or debt, or one fewer in the log. */
    readonly damage: (accountId: string, what: "allowance" | "balance" | "owed" | "log") => Effect.Effect<void>
  }
>()("quarry/test/support/Backdoor") {}
