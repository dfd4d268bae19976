import { Context, Data, type Effect } from "effect"
import type { Account, Allowance } from "../domain/Account.ts"
import type { NotFound, QuotaExceeded } from "../domain/errors.ts"
import type { LogEntry } from "../domain/LogEntry.ts"
import { OperatorError } from "../domain/OperatorError.ts"

/** Credits taken from an account before its searches are dispatched. A hold ends exactly once (I3). */
export interface Hold {
  /** `hld_` and 32 hex characters. */
  readonly id: string
  readonly accountId: string
  readonly fromQuota: number
  readonly fromBalance: number
  /** The account's allowance before this hold. */
  readonly before: Allowance
}

/** A request that its client may repeat without paying again: it has an idempotency key (R44). */
export interface KeyedRequest {
  /** A key means another request on another route. */
  readonly route: "query" | "bulk"
  readonly key: string
  /** The decoded request. The key means no other request. */
  readonly content: string
}

/** The answer to a keyed request, as it is kept for 24 hours. */
export interface KeyedAnswer {
  readonly request: KeyedRequest
  readonly text: string
}

/** The end of a reservation for a keyed request. */
export type KeyedReservation =
  /** The first request with its key, or the first after one that was not charged. */
  | { readonly _tag: "held"; readonly hold: Hold }
  /** The same request was charged. `text` is undefined where its answer was too large to be kept. */
  | { readonly _tag: "answered"; readonly text: string | undefined; readonly allowance: Allowance }
  /** The first request with the key has a hold that has not ended. */
  | { readonly _tag: "running" }
  /** The key belongs to another request. */
  | { readonly _tag: "different" }

export interface Settlement {
  /** Credits charged: the sum over the entries. */
  readonly charged: number
  /** Pack credits after the settlement. */
  readonly balance: number
}

/**
 * The hold does not exist any more: its lease ran out, or the database crashed right after the reservation. Its credits
 * were returned, nothing was charged and nothing was logged.
 */
export class HoldExpired extends Data.TaggedError("HoldExpired")<{ readonly holdId: string }> {}

/** An idempotency key that was used for a grant with other arguments. */
export class GrantDiffers extends OperatorError("GrantDiffers") {
  static of(idempotencyKey: string): GrantDiffers {
    const message =
      `The idempotency key ${idempotencyKey} belongs to another grant. Repeat it with the same account, credits and ` +
      "reason, or use a new key."
    return new GrantDiffers({ message })
  }
}

/** An operator's correction of an account's credits. */
export interface Adjustment {
  readonly accountId: string
  /** A whole number other than 0. Above 0 the account can spend more, below 0 less. */
  readonly credits: number
  /** The pack balance, or what is used of the present period's quota. */
  readonly to: "balance" | "quota"
  readonly reason: string
  /** The operator who is responsible. */
  readonly by: string
}

/** The books cannot be corrected in this way, and nothing has changed. The message says why and what to do. */
export class CorrectionImpossible extends OperatorError("CorrectionImpossible") {
  static ofAdjustment(
    { accountId, credits, to }: Adjustment,
    found: {
      readonly quota: number | undefined
      readonly used: number
      readonly held: number
      readonly balance: number
    }
  ): CorrectionImpossible {
    const name = `account ${accountId}`
    const { balance, held, quota, used } = found
    if (to === "balance") {
      return new CorrectionImpossible({
        message: `The pack balance of ${name} is ${balance}: ${-credits} cannot be taken from it. Take ${balance} or less.`
      })
    }
    const message =
      credits > 0
        ? `${name} has used ${used - held} of its quota in this period (${held} more are held): ${credits} cannot be given back. Use --to balance for the rest.`
        : `${name} has ${(quota ?? used) - used} left of its quota: ${-credits} cannot be taken from it. Use --to balance for the rest.`
    return new CorrectionImpossible({ message: message[0]?.toUpperCase() + message.slice(1) })
  }

  /** The entries add up to a figure that I1 forbids. */
  static ofRepair({ accountId }: Repair, { expected, what }: Discrepancy): CorrectionImpossible {
    return new CorrectionImpossible({
      message: `The entries of ${accountId} add up to ${expected} for "${what}", which is below 0, below what is held, or beyond the quota. Use --keep figures, then correct with ledger adjust.`
    })
  }
}

/** A repair of an account's books after a discrepancy. */
export interface Repair {
  /** The account, or the scope of a trial whose account is gone, as a discrepancy names it. */
  readonly accountId: string
  /**
   * `entries`: used and balance become what the entries add up to. `figures`: they stay, and entries are written for the
   * differences. A charge that differs from the log stays in both cases, and a correction explains the difference.
   */
  readonly keep: "entries" | "figures"
  readonly reason: string
  /** The operator who is responsible. */
  readonly by: string
}

/** The comparisons that a discrepancy can come from. */
export const discrepancyKinds = [
  "credits used of the quota",
  "credits used beyond the quota",
  "pack balance",
  "credits owed",
  "credits in the query log",
  "credits spent of a key's budget"
] as const

/** A figure of an account that differs from the sum of its entries. */
export interface Discrepancy {
  readonly accountId: string
  readonly what: (typeof discrepancyKinds)[number]
  readonly expected: number
  readonly found: number
}

/**
 * The credits of accounts. A hold takes them before a search is dispatched, and returns those that are not charged
 * (R29). So `0 <= used <= quota` and `balance >= 0` hold at any moment over all replicas (I1).
 *
 * Concurrent calls share a statement, in which the database decides in arrival order which of them fit. A failure of
 * the store is a defect.
 */
export class Ledger extends Context.Service<
  Ledger,
  {
    /**
     * Takes `credits`, from the quota first and then from the pack balance (R30). Fails where they do not suffice. With
     * `budgetId`, the budget of a key of this account has to cover them too, and counts them until they are returned
     * (R50); a key that has no budget any more needs none.
     */
    readonly reserve: (account: Account, credits: number, budgetId?: string) => Effect.Effect<Hold, QuotaExceeded>
    /**
     * `reserve` for a keyed request (R44). The key is written with the hold: of concurrent requests with one key, one
     * alone gets a hold, over all replicas. The key is free again when the hold ends without a charge. An answer needs no
     * credits of account or budget.
     */
    readonly reserveKeyed: (
      account: Account,
      credits: number,
      request: KeyedRequest,
      budgetId?: string
    ) => Effect.Effect<KeyedReservation, QuotaExceeded>
    /**
     * Ends a hold in one transaction: charges the credits of the entries, returns the rest (pack credits first), and
     * writes the entries to the query log. Without entries it returns all. The entries' credits must not exceed the
     * hold's. Where something is charged, the answer is kept under its request's key.
     */
    readonly settle: (
      hold: Hold,
      entries: ReadonlyArray<LogEntry>,
      answer?: KeyedAnswer
    ) => Effect.Effect<Settlement, HoldExpired>
    /**
     * Charges one search of a hold and writes its entry to the query log, in one transaction. The rest of the hold stays
     * held until `settle`. Fails also where too little of it is left. An entry that costs nothing is a defect.
     */
    readonly settlePart: (hold: Hold, entry: LogEntry) => Effect.Effect<void, HoldExpired>
    /** The account's present allowance. */
    readonly allowance: (account: Account) => Effect.Effect<Allowance>
    /**
     * Adds pack credits, a positive number, and returns the new balance. The same grant with the same idempotency key
     * again adds nothing, and returns the balance of the first time.
     */
    readonly grant: (
      accountId: string,
      credits: number,
      reason: string,
      idempotencyKey?: string
    ) => Effect.Effect<number, NotFound | GrantDiffers>
    /**
     * Corrects an account's credits by an entry that names the operator and the reason, and answers the allowance after
     * it. Fails where the credits are not there (I1): nothing is clamped.
     */
    readonly adjust: (adjustment: Adjustment) => Effect.Effect<Allowance, NotFound | CorrectionImpossible>
    /** Returns the credits of holds whose lease ran out, each exactly once. The result is their number. */
    readonly sweep: Effect.Effect<number>
    /**
     * Recomputes every account from its entries, holds and log, and remembers the run for the metrics. Empty where
     * everything agrees (I1, I2); at most 10,000 discrepancies.
     */
    readonly verify: Effect.Effect<ReadonlyArray<Discrepancy>>
    /**
     * Makes an account's books agree by entries that name the operator and the reason, and answers what disagreed before.
     * Fails where I1 would not hold after it.
     */
    readonly repair: (repair: Repair) => Effect.Effect<ReadonlyArray<Discrepancy>, NotFound | CorrectionImpossible>
  }
>()("quarry/services/Ledger") {}
