import { Context, Effect } from "effect"
import type { Account } from "../../domain/accounts/Account.ts"
import { maxConcurrency, type PaidPlan, type Plan, type PlanTable } from "../../domain/credits/Plan.ts"
import { NotFound } from "../../domain/errors.ts"
import { OperatorError } from "../../domain/OperatorError.ts"

export interface PlanChoice {
  readonly plan: Plan
  /** Searches per period. Undefined: the plan's quota. Required if the plan has none, as `custom` usually does. */
  readonly quota?: number | undefined
  /** Undefined: the plan's concurrency. */
  readonly concurrency?: number | undefined
  /** Unix milliseconds. Undefined: calendar months, or the current cycle on a plan change. */
  readonly cycleStart?: number | undefined
  /** Cents per 1,000 pack credits, for custom accounts only. Undefined: it cannot buy packs (R42). */
  readonly packRate?: number | undefined
}

/** Undefined filters match every account. */
export interface AccountQuery {
  /**
   * Part of the address or marketplace name or the start of a key's name, in any letter case; a prefix of the account's
   * ID; a key's ID; or the start of a key's secret, of which only the shown part is compared.
   */
  readonly text: string | undefined
  readonly plan: Plan | undefined
  readonly suspended: boolean | undefined
  /** The ID of the previous page's last account. */
  readonly after: string | undefined
  readonly limit: number
}

export class AccountError extends OperatorError("AccountError") {
  static taken(email: string): AccountError {
    return new AccountError({ message: `An account for ${email} already exists. Use it, or choose another address.` })
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
     * Grants the trial's credits once per mailbox (R32): a later account of the mailbox gets what is left, or nothing
     * while another account has it.
     */
    readonly create: (choice: PlanChoice & { readonly email: string }) => Effect.Effect<Account, AccountError>
    readonly byId: (id: string) => Effect.Effect<Account, NotFound>
    /** Ignores letter case. */
    readonly byEmail: (email: string) => Effect.Effect<Account, NotFound>
    /** Newest first. */
    readonly list: (query: AccountQuery) => Effect.Effect<ReadonlyArray<Account>>
    /**
     * Takes effect immediately. Credits used in the current cycle stay counted (R31), and the cycle's quota becomes the
     * new plan's, but at least what was used.
     */
    readonly setPlan: (id: string, choice: PlanChoice) => Effect.Effect<Account, NotFound | AccountError>
    /** `People.setEmail` changes the sign-in. A trial continues with what is left of the new mailbox's trial (R32). */
    readonly setEmail: (id: string, email: string) => Effect.Effect<Account, NotFound | AccountError>
    /**
     * No credential of the account is accepted any more, on any replica within 10 seconds. Keys, ledger, log and packs
     * stay (R49). Suspending it again keeps the first time.
     */
    readonly suspend: (id: string) => Effect.Effect<Account, NotFound>
    readonly resume: (id: string) => Effect.Effect<Account, NotFound>
    /**
     * The account of a marketplace subscriber, created with the first request, once over all replicas. It has no
     * address and no quota, and is counted by UTC calendar month (R23).
     */
    readonly ofSubscriber: (user: string, plan: PaidPlan) => Effect.Effect<Account>
    /** Also deletes the address and revokes the keys. The ledger and the record of the trial stay (R32). */
    readonly remove: (id: string) => Effect.Effect<void, NotFound>
  }
>()("quarry/services/accounts/Accounts") {}

export const noSuchAccount = (idOrEmail: string): NotFound =>
  new NotFound({ message: `There is no account ${idOrEmail}.` })

interface ChosenTerms {
  readonly quota: number
  readonly concurrency: number
  /** Limits chosen for this account, which therefore do not follow the plan. */
  readonly agreed: Pick<Account, "agreedQuota" | "agreedConcurrency">
}

export const termsOf = (choice: PlanChoice, plans: PlanTable): Effect.Effect<ChosenTerms, AccountError> => {
  const quota = choice.quota ?? plans[choice.plan].quota
  const concurrency = choice.concurrency ?? plans[choice.plan].concurrency
  const fail = (message: string) => Effect.fail(new AccountError({ message }))
  if (quota === undefined) return fail(`The plan ${choice.plan} has no quota of its own. Specify one.`)
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

/** The trial is granted to addresses, so it needs one. */
export const requireTrialAddress = (plan: Plan, email: string): Effect.Effect<void, AccountError> =>
  plan === "trial" && email === ""
    ? Effect.fail(new AccountError({ message: "The trial requires an email address. Specify one." }))
    : Effect.void
