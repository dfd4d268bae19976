import { Context, Duration, Effect, Fiber, Layer } from "effect"
import type { NotFound } from "../domain/errors.ts"
import { Accounts } from "./Accounts.ts"
import { QueryLog } from "./QueryLog.ts"
import { Sessions } from "./Sessions.ts"
import { untraced } from "./Tracing.ts"

/** The longest that a removal waits for its log to be erased: enough for all but the longest logs. */
const eraseTimeout = Duration.seconds(5)

/** The removal of an account and of its person. */
export class AccountRemoval extends Context.Service<
  AccountRemoval,
  {
    /**
     * Ends the account and removes the person's data: address, sign-ins, key names, query texts. The books stay, and so
     * does the address's claim on its trial grant, as a digest (R32). The account ends first, so that no credential
     * opens it when a later step fails. A long log may still be erased in the background when this returns. The log's
     * maintenance erases the rest when the process ends before.
     */
    readonly remove: (accountId: string) => Effect.Effect<void, NotFound>
    /** The first part of a removal alone: it ends the account and removes the person, but erases no log. */
    readonly end: (accountId: string) => Effect.Effect<void, NotFound>
  }
>()("quarry/services/AccountRemoval") {
  static readonly layer = Layer.effect(
    AccountRemoval,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const sessions = yield* Sessions
      const queryLog = yield* QueryLog
      const scope = yield* Effect.scope

      const end = (accountId: string) => Effect.andThen(accounts.remove(accountId), sessions.forget(accountId))

      const remove = Effect.fn("AccountRemoval.remove")(function* (accountId: string) {
        // Uninterruptible, so that a caller who disconnects in the middle is removed completely.
        yield* Effect.uninterruptible(end(accountId))
        const erasure = yield* queryLog.erase(accountId).pipe(
          Effect.catchCause((cause) => Effect.logError("A removed account's log could not be erased yet.", cause)),
          untraced,
          Effect.forkIn(scope)
        )
        yield* Effect.timeoutOption(Fiber.await(erasure), eraseTimeout)
      })

      return AccountRemoval.of({ remove, end })
    })
  )
}
