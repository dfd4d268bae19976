import { Context, Duration, Effect, Fiber, Layer } from "effect"
import type { NotFound } from "../domain/errors.ts"
import { Accounts } from "./Accounts.ts"
import { QueryLog } from "./QueryLog.ts"
import { Sessions } from "./Sessions.ts"

/** How long somebody who leaves waits for their log to be erased: enough for all but the longest. */
const patience = Duration.seconds(5)

/** A person leaving. */
export class AccountRemoval extends Context.Service<
  AccountRemoval,
  {
    /**
     * Ends the account and removes what tells about the person: address, sign-ins, key names, query texts. The books
     * stay, and so does the address's claim on its trial grant, as a digest (R32). The account is gone first, so that
     * nothing opens it any more whatever happens to the rest. A long log is still being erased when this returns; what
     * the end of the process leaves of it, the log's own maintenance takes.
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
      const scope = yield* Effect.scope

      const remove = Effect.fn("AccountRemoval.remove")(function* (accountId: string) {
        // A caller who hangs up in the middle is removed all the same.
        yield* Effect.uninterruptible(Effect.andThen(accounts.remove(accountId), sessions.forget(accountId)))
        const erasing = yield* queryLog.erase(accountId).pipe(
          Effect.catchCause((cause) => Effect.logError("A removed account's log could not be erased yet.", cause)),
          Effect.forkIn(scope)
        )
        yield* Effect.timeoutOption(Fiber.await(erasing), patience)
      })

      return AccountRemoval.of({ remove })
    })
  )
}
