import { Context, Data, Effect } from "effect"
import type { Account } from "../domain/Account.ts"
import { NotFound } from "../domain/errors.ts"
import { type PaidPlan, type Plan, planTerms } from "../domain/Plan.ts"

/** What an operator decides about an account. */
export interface PlanChoice {
  readonly plan: Plan
  /** Searches a period allows; the plan's own figure when undefined. Required for `custom`. */
  readonly quota?: number | undefined
  /** The plan's own figure when undefined. */
  readonly concurrency?: number | undefined
  /**
   * Start of the subscription in Unix milliseconds. When undefined, calendar months apply, and a change of plan keeps
   * the cycle that is running.
   */
  readonly cycleStart?: number | undefined
}

/** The choice is not possible; the message says why and what to do. */
export class AccountError extends Data.TaggedError("AccountError")<{ readonly message: string }> {
  static taken(email: string): AccountError {
    return new AccountError({ message: `There is an account for ${email} already: use it, or give another address.` })
  }

  static readonly subscriber = new AccountError({
    message: "The plan of a marketplace subscriber is the one in MARKETPLACE_PLAN."
  })
}

/** Accounts: who they are and what their plan is. What they spend is the `Ledger`'s. */
export class Accounts extends Context.Service<
  Accounts,
  {
    /**
     * Makes an account. The trial grant belongs to the email address for life: an address that claimed it before gets
     * what is left of it (R32).
     */
    readonly create: (choice: PlanChoice & { readonly email: string }) => Effect.Effect<Account, AccountError>
    readonly byId: (id: string) => Effect.Effect<Account, NotFound>
    /** `email` in any letter case. */
    readonly byEmail: (email: string) => Effect.Effect<Account, NotFound>
    /**
     * Changes the plan from now on. Inside a running cycle what was used stays used (R31): the cycle's quota becomes
     * the new plan's, or what is already used where that is more.
     */
    readonly setPlan: (id: string, choice: PlanChoice) => Effect.Effect<Account, NotFound | AccountError>
    /**
     * The account of a marketplace subscriber, made on first sight: one for each subscriber over all replicas, without
     * an address, on this plan, counted by UTC calendar month and never refused (R23).
     */
    readonly ofSubscriber: (user: string, plan: PaidPlan) => Effect.Effect<Account>
    /**
     * Deletes the account: its address goes and its keys are revoked, at once. The books and the address's claim on its
     * trial grant stay (R32).
     */
    readonly remove: (id: string) => Effect.Effect<void, NotFound>
  }
>()("quarry/services/Accounts") {}

/** `what` is the id or the address that was looked for. */
export const noSuchAccount = (what: string): NotFound => new NotFound({ message: `There is no account ${what}.` })

/** Figures beyond it are typing mistakes. */
export const maxConcurrency = 10_000

/** The figures a choice comes to, or why it is not possible. */
export const termsOf = (
  choice: PlanChoice
): Effect.Effect<{ readonly quota: number; readonly concurrency: number }, AccountError> => {
  const quota = choice.quota ?? planTerms[choice.plan].quota
  const concurrency = choice.concurrency ?? planTerms[choice.plan].concurrency
  const refuse = (message: string) => Effect.fail(new AccountError({ message }))
  if (quota === undefined) return refuse(`The plan ${choice.plan} has no quota of its own: give one.`)
  if (!Number.isSafeInteger(quota) || quota < 0) return refuse("The quota must be a whole number, 0 or more.")
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > maxConcurrency) {
    return refuse(`The concurrency must be a whole number from 1 to ${maxConcurrency}.`)
  }
  return Effect.succeed({ quota, concurrency })
}

/** The trial is an address's: an account without one cannot be on it. */
export const requireTrialAddress = (plan: Plan, email: string): Effect.Effect<void, AccountError> =>
  plan === "trial" && email === ""
    ? Effect.fail(new AccountError({ message: "The trial belongs to an email address: give one." }))
    : Effect.void
