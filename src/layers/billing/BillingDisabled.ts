import { Effect, Layer } from "effect"
import { BillingUnavailable } from "../../domain/errors.ts"
import { Accounts } from "../../services/accounts/Accounts.ts"
import { Billing, bookedState } from "../../services/billing/Billing.ts"
import { BillingBooks } from "../../services/billing/BillingBooks.ts"
import { BillingTerms } from "../../services/billing/BillingTerms.ts"
import { Plans } from "../../services/credits/Plans.ts"
import { StoreClock } from "../../services/StoreClock.ts"

const unavailable = Effect.fail(new BillingUnavailable({ message: "Nothing can be bought on this deployment." }))

/** Sells nothing. Accounts keep and see the subscriptions, packs and debts of a former provider (R42). */
export const layer = Layer.effect(
  Billing,
  Effect.gen(function* () {
    return Billing.of({
      state: bookedState({
        accounts: yield* Accounts,
        books: yield* BillingBooks,
        clock: yield* StoreClock,
        plans: yield* Plans,
        terms: { ...(yield* BillingTerms), isOpen: false }
      }),
      checkout: () => unavailable,
      changePlan: () => unavailable,
      buyPack: () => unavailable,
      portal: () => unavailable,
      sync: () => unavailable,
      receive: () => unavailable
    })
  })
)
