import { Context, Duration, Effect, Fiber, Layer } from "effect"
import type { NotFound } from "../../domain/errors.ts"
import { QueryLog } from "../search/QueryLog.ts"
import { untraced } from "../telemetry/Tracing.ts"
import { Accounts } from "./Accounts.ts"
import { Sessions } from "./Sessions.ts"

/** The time that a removal waits for the log's erasure, which continues in the background. */
const eraseTimeout = Duration.seconds(5)

export class AccountRemoval extends Context.Service<
  AccountRemoval,
  {
    /**
     * Ends the account first, so that no credential works if a later step fails, then removes personal data. The ledger
     * and a digest of the address stay (R32). Log maintenance completes an interrupted erasure.
     */
    readonly remove: (accountId: string) => Effect.Effect<void, NotFound>
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
