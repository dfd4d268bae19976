import { Context, Effect, Exit } from "effect"
import type { IpNetwork } from "effect/net"
import { accountAt } from "../domain/Account.ts"
import { type NotFound, type Unauthorized, unauthorized } from "../domain/errors.ts"
import type { KeylessPrincipal } from "../domain/Principal.ts"
import { Accounts } from "./Accounts.ts"
import { StoreClock, storeTime } from "./StoreClock.ts"

/** The calls without a credential that an operator lets in, for clients that can send none (R43). */
export interface Keyless {
  /** The networks that such calls may come from. */
  readonly networks: ReadonlyArray<IpNetwork.IpNetwork>
  /** The account that pays for them. Fails while the account is suspended, and when it is gone. */
  readonly principal: Effect.Effect<KeylessPrincipal, Unauthorized>
}

/** Undefined unless an operator has named an account. */
export const Keyless = Context.Reference<Keyless | undefined>("quarry/services/Keyless", {
  defaultValue: () => undefined
})

/** The time for which an account is not read again: no longer than a key's, so that a suspension takes effect as soon. */
const accountTtl = "5 seconds"

/** Lets calls from these networks in as one account. Fails where there is no such account. */
export const makeKeyless = Effect.fnUntraced(function* (
  accountId: string,
  networks: ReadonlyArray<IpNetwork.IpNetwork>
): Effect.fn.Return<Keyless, NotFound, Accounts> {
  const accounts = yield* Accounts
  const clock = yield* StoreClock
  // A caller who leaves during the look-up must not leave an interruption to those that come after.
  const lookup = Effect.uninterruptible(accounts.byId(accountId))
  const account = yield* Effect.cachedWithTTL(lookup, (exit) => (Exit.isSuccess(exit) ? accountTtl : 0))
  yield* account
  const principal = Effect.gen(function* () {
    const payer = yield* account
    if (payer.suspendedAt !== undefined) return yield* Effect.fail(unauthorized)
    return { _tag: "keyless" as const, account: accountAt(payer, yield* storeTime(clock)) }
  })
  return { networks, principal: Effect.catchTag(principal, "not_found", () => Effect.fail(unauthorized)) }
})
