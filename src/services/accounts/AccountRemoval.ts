import { Context, Duration, Effect, Fiber, Layer } from "effect"
import type { NotFound } from "../../domain/errors.ts"
import { QueryLog } from "../charging/QueryLog.ts"
import { KeyStore } from "../keys/KeyStore.ts"
import { untraced } from "../telemetry/Tracing.ts"
import { Accounts } from "./Accounts.ts"
import { Sessions } from "./Sessions.ts"

/** Limits how long a removal waits for its log to be erased. This suffices for all but the longest logs. */
const eraseTimeout = Duration.seconds(5)

export class AccountRemoval extends Context.Service<
  AccountRemoval,
  {
    /**
     * Ends the account and removes personal data: address, sign-ins, key names, query texts. The books stay, and so
     * does a digest of the address, so that the trial is not granted again (R32). The account ends first, so that no
     * credential works if a later step fails. A long log may still be erased in the background; log maintenance
     * completes it if the process ends first.
     */
    readonly remove: (accountId: string) => Effect.Effect<void, NotFound>
    readonly end: (accountId: string) => Effect.Effect<void, NotFound>
  }
>()("quarry/services/accounts/AccountRemoval") {
  static readonly layer = Layer.effect(
    AccountRemoval,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const sessions = yield* Sessions
      const keys = yield* KeyStore
      const queryLog = yield* QueryLog
      const scope = yield* Effect.scope

      // Revokes the keys first, because this process may have cached them as valid (R85).
      const end = (accountId: string) =>
        Effect.all([keys.revokeAll(accountId), accounts.remove(accountId), sessions.forget(accountId)], {
          discard: true
        })

      const remove = Effect.fn("AccountRemoval.remove")(function* (accountId: string) {
        // Uninterruptible, so that the removal completes even if the caller disconnects.
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
