import { Effect, Layer } from "effect"
import type { Account } from "../../../src/domain/accounts/Account.ts"
import { Billing, type BillingState } from "../../../src/services/billing/Billing.ts"
import { DeliveryInvalid } from "../../../src/services/billing/PaymentProvider.ts"

/** The state of an account with a subscription, with every field set. */
export const subscriberState: BillingState = {
  open: true,
  plan: "growth",
  subscription: {
    status: "past_due",
    plan: "growth",
    periodStart: Date.UTC(2026, 0, 31, 8),
    periodEnd: Date.UTC(2026, 1, 28, 8),
    cancelAtPeriodEnd: false,
    pendingPlan: "starter",
    pendingAt: Date.UTC(2026, 1, 28, 8),
    pastDueSince: Date.UTC(2026, 0, 31, 8),
    graceUntil: Date.UTC(2026, 1, 3, 8)
  },
  packs: [{ credits: 10_000, price: 800 }],
  balance: 12_000,
  owed: 34
}

const page = { url: "https://pay.test/1", expiresAt: Date.UTC(2026, 1, 1) }

export const goodDelivery = "signed by the provider"

/** A call to the service. */
export interface Call {
  readonly method: string
  readonly accountId: string
  readonly args: ReadonlyArray<unknown>
}

/** Billing in which everything succeeds. Records each call, and lets a test replace methods. */
export const layer = (replaced: Partial<Billing["Service"]> = {}, calls: Array<Call> = []) => {
  const note = (method: string, { id }: Account, ...args: ReadonlyArray<unknown>) =>
    Effect.sync(() => void calls.push({ method, accountId: id, args }))
  return Layer.succeed(Billing, {
    state: (account) => Effect.as(note("state", account), subscriberState),
    checkout: (account, ...args) => Effect.as(note("checkout", account, ...args), page),
    changePlan: (account, plan, when) =>
      Effect.as(note("changePlan", account, plan, when), {
        plan,
        pendingPlan: undefined,
        effectiveAt: Date.UTC(2026, 1, 1)
      }),
    buyPack: (account, credits, address) =>
      Effect.as(note("buyPack", account, credits, address), { ...page, credits, price: 800 }),
    portal: (account) => Effect.as(note("portal", account), page),
    sync: (account, checkoutId) => Effect.as(note("sync", account, checkoutId), subscriberState),
    receive: (_, body) =>
      Buffer.from(body).toString() === goodDelivery
        ? Effect.void
        : Effect.fail(new DeliveryInvalid({ reason: "for a test" })),
    ...replaced
  })
}
