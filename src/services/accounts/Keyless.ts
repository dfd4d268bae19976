import { Context, Effect, Exit } from "effect"
import type { IpNetwork } from "effect/net"
import { accountAt } from "../../domain/accounts/Account.ts"
import type { KeylessPrincipal } from "../../domain/accounts/Principal.ts"
import { type NotFound, type Unauthorized, unauthorized } from "../../domain/errors.ts"
import { StoreClock, storeTime } from "../StoreClock.ts"
import { Accounts } from "./Accounts.ts"

/** Calls without a credential that the operator allows, for clients that cannot send one (R43). */
export interface Keyless {
  readonly networks: ReadonlyArray<IpNetwork.IpNetwork>
  /** Fails if the account that pays is suspended or was removed. */
  readonly principal: Effect.Effect<KeylessPrincipal, Unauthorized>
}

export const Keyless = Context.Reference<Keyless | undefined>("quarry/references/Keyless", {
  defaultValue: () => undefined
})

/** At most as long as keys are cached, so that a suspension takes effect equally soon. */
const accountTtl = "5 seconds"

export const makeKeyless = Effect.fnUntraced(function* (
  accountId: string,
  networks: ReadonlyArray<IpNetwork.IpNetwork>
): Effect.fn.Return<Keyless, NotFound, Accounts | StoreClock> {
  const accounts = yield* Accounts
  const clock = yield* StoreClock
  // Uninterruptible, because the result is shared with other callers.
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
