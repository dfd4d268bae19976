import { Context, Effect } from "effect"
import type { Account } from "../../domain/accounts/Account.ts"
import type { PaidPlan, Plan, PlanTable } from "../../domain/credits/Plan.ts"
import { NotFound } from "../../domain/errors.ts"
import { OperatorError } from "../../domain/OperatorError.ts"

/** The plan of an account, as an operator sets it. */
export interface PlanChoice {
  readonly plan: Plan
  /** Searches in a period; the plan's own quota where undefined. Required where the plan has none, as `custom` usually. */
  readonly quota?: number | undefined
  /** The plan's own concurrency where undefined. */
  readonly concurrency?: number | undefined
  /**
   * Start of the subscription in Unix milliseconds. Where undefined, calendar months apply, and a change of plan keeps
   * the current cycle.
   */
  readonly cycleStart?: number | undefined
  /** Cents for 1,000 pack credits, of a custom account alone. It can buy no packs where undefined (R42). */
  readonly packRate?: number | undefined
}

/** The filters of a list of accounts. An undefined one matches every account. */
export interface AccountQuery {
  /** Found in the address or a marketplace subscriber's name in any letter case, or the begin of the account's id. */
  readonly text: string | undefined
  readonly plan: Plan | undefined
  readonly suspended: boolean | undefined
  /** The id of the last account of the page before. */
  readonly after: string | undefined
  readonly limit: number
}

/** An account that cannot be made or changed as chosen. The message says why and what to do. */
export class AccountError extends OperatorError("AccountError") {
  static taken(email: string): AccountError {
    return new AccountError({ message: `There is an account for ${email} already: use it, or give another address.` })
  }

  static readonly subscriber = new AccountError({
    message: "The plan of a marketplace subscriber is the one in MARKETPLACE_PLAN."
  })

  static readonly subscriberAddress = new AccountError({ message: "A marketplace subscriber has no email address." })
}

/** Accounts and their plans. Their credits are in `Ledger`. */
export class Accounts extends Context.Service<
  Accounts,
  {
    /**
     * Makes an account. A mailbox gets the trial's credits once (R32): an account at a mailbox that had them before gets
     * what is left of them, and none while another account of the mailbox has them.
     */
    readonly create: (choice: PlanChoice & { readonly email: string }) => Effect.Effect<Account, AccountError>
    readonly byId: (id: string) => Effect.Effect<Account, NotFound>
    /** Finds the account of an address in any letter case. */
    readonly byEmail: (email: string) => Effect.Effect<Account, NotFound>
    /** A page of the accounts, newest first. */
    readonly list: (query: AccountQuery) => Effect.Effect<ReadonlyArray<Account>>
    /**
     * Changes the plan at once. The use of the current cycle stays counted (R31). The cycle's quota becomes the new
     * plan's, or the use so far where that is more.
     */
    readonly setPlan: (id: string, choice: PlanChoice) => Effect.Effect<Account, NotFound | AccountError>
    /**
     * Changes the address. A trial goes on with what is left of the trial of the new address's mailbox (R32). It does not change
     * with which address a person signs in: `People.setEmail` does.
     */
    readonly setEmail: (id: string, email: string) => Effect.Effect<Account, NotFound | AccountError>
    /**
     * Suspends an account: no credential of it is accepted any more, on any replica within 10 seconds. Keys, ledger, log
     * and packs stay (R49). Suspending it again keeps the first time.
     */
    readonly suspend: (id: string) => Effect.Effect<Account, NotFound>
    /** Ends the suspension of an account, if there is one. */
    readonly resume: (id: string) => Effect.Effect<Account, NotFound>
    /**
     * The account of a marketplace subscriber, made with the first request. There is one for each subscriber over all
     * replicas, without an address and without a quota, counted by UTC calendar month (R23).
     */
    readonly ofSubscriber: (user: string, plan: PaidPlan) => Effect.Effect<Account>
    /**
     * Deletes the account with its address, and revokes its keys. The ledger stays, and so does the record that the
     * address has had its trial (R32).
     */
    readonly remove: (id: string) => Effect.Effect<void, NotFound>
  }
>()("quarry/services/Accounts") {}

/** The error for an unknown id or address. */
export const noSuchAccount = (idOrEmail: string): NotFound =>
  new NotFound({ message: `There is no account ${idOrEmail}.` })

/** The highest concurrency; a higher number is a typing mistake. */
export const maxConcurrency = 10_000

interface ChosenTerms {
  readonly quota: number
  readonly concurrency: number
  /** The limits that were chosen, and so do not follow the plan. */
  readonly agreed: Pick<Account, "agreedQuota" | "agreedConcurrency">
}

/** Resolves the quota and concurrency of a choice, and fails where they are not possible. */
export const termsOf = (choice: PlanChoice, plans: PlanTable): Effect.Effect<ChosenTerms, AccountError> => {
  const quota = choice.quota ?? plans[choice.plan].quota
  const concurrency = choice.concurrency ?? plans[choice.plan].concurrency
  const fail = (message: string) => Effect.fail(new AccountError({ message }))
  if (quota === undefined) return fail(`The plan ${choice.plan} has no quota of its own: give one.`)
  if (!Number.isSafeInteger(quota) || quota < 0) return fail("The quota must be a whole number, 0 or more.")
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > maxConcurrency) {
    return fail(`The concurrency must be a whole number from 1 to ${maxConcurrency}.`)
  }
  return Effect.succeed({
    quota,
    concurrency,
    agreed: {
      ...(choice.quota !== undefined && { agreedQuota: true }),
      ...(choice.concurrency !== undefined && { agreedConcurrency: true })
    }
  })
}

/** Fails for the trial without an email address, because the trial is granted to addresses. */
export const requireTrialAddress = (plan: Plan, email: string): Effect.Effect<void, AccountError> =>
  plan === "trial" && email === ""
    ? Effect.fail(new AccountError({ message: "The trial belongs to an email address: give one." }))
    : Effect.void
