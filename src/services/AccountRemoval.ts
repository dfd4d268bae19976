import { Context, Effect, Layer } from "effect"
import type { NotFound } from "../domain/errors.ts"
import { Accounts } from "./Accounts.ts"
import { QueryLog } from "./QueryLog.ts"
import { Sessions } from "./Sessions.ts"

/** A person leaving. */
export class AccountRemoval extends Context.Service<
  AccountRemoval,
  {
    /**
     * Ends the account and removes what tells about the person: address, sign-ins, key names, query texts. The books
     * stay, and so does the address's claim on its trial grant, as a digest (R32). The account is gone first, so that
     * nothing opens it any more whatever happens to the rest.
     */
    readonly remove: (accountId: string) => Effect.Effect<void, NotFound>
  }
>()("quarry/services/AccountRemoval") {
  static readonly layer = Layer.effect(
    AccountRemoval,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const sessions = yield* Sessions
      const queryLog = yield* QueryLog

      // A caller who hangs up in the middle is removed all the same.
      const remove = Effect.fn("AccountRemoval.remove")(function* (accountId: string) {
        yield* accounts.remove(accountId)
        yield* sessions.forget(accountId)
        yield* queryLog.erase(accountId)
      }, Effect.uninterruptible)

      return AccountRemoval.of({ remove })
    })
  )
}
