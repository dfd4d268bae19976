import { Context, type Effect } from "effect"
import type { SoldPlan } from "../../domain/billing/Purchase.ts"
import type { Plan } from "../../domain/credits/Plan.ts"

/** Limits lists that are there for an operator to empty. */
export const maxListed = 100

/** Times are Unix milliseconds of the database's clock. */
export interface LastVerification {
  readonly finishedAt: number
  readonly seconds: number
  readonly accounts: number
  readonly problems: { readonly quota: number; readonly balance: number; readonly log: number; readonly closed: number }
}

export interface PlanCount {
  readonly plan: Plan
  readonly accounts: number
  readonly suspended: number
}

/** Orders as the payment provider reported them. Amounts are net of tax. */
export interface Revenue {
  readonly kind: "pack" | "plan"
  readonly orders: number
  readonly netCents: number
  readonly refundedCents: number
}

export interface OpenSubscription {
  readonly id: string
  readonly accountId: string
  readonly email: string
  readonly plan: SoldPlan
  readonly status: "active" | "past_due"
  readonly periodEnd: number
  readonly pastDueAt: number | undefined
}

/** Figures over all accounts that no other service has. */
export class OperatorFigures extends Context.Service<
  OperatorFigures,
  {
    /** Of any replica or command. Undefined if none has finished. */
    readonly lastVerification: Effect.Effect<LastVerification | undefined>
    /** The last use of one of the account's keys or sessions. Undefined if none was used. */
    readonly lastSeen: (accountId: string) => Effect.Effect<number | undefined>
    readonly plans: Effect.Effect<ReadonlyArray<PlanCount>>
    /** Paid orders since a time. */
    readonly revenue: (since: number) => Effect.Effect<ReadonlyArray<Revenue>>
    /** Open subscriptions of accounts that have more than one. At most `maxListed`. */
    readonly secondSubscriptions: Effect.Effect<ReadonlyArray<OpenSubscription>>
    /** Renewals that were not paid, the longest unpaid first. At most `maxListed`. */
    readonly unpaid: Effect.Effect<ReadonlyArray<OpenSubscription>>
  }
>()("quarry/services/operations/OperatorFigures") {}
