import { Context, Data, type Effect } from "effect"
import type { Account } from "../../domain/accounts/Account.ts"
import type { Allowance } from "../../domain/credits/Allowance.ts"
import type { Budgets } from "../../domain/credits/Budget.ts"
import type { NotFound, QuotaExceeded, Unauthorized } from "../../domain/errors.ts"
import type { LogEntry } from "../../domain/log/LogEntry.ts"
import { OperatorError } from "../../domain/OperatorError.ts"

/** Credits reserved before searches are dispatched. A hold ends exactly once. */
export interface Hold {
  readonly id: string
  readonly accountId: string
  readonly fromQuota: number
  readonly fromBalance: number
  readonly before: Allowance
}

/** Can be repeated without paying again (R44). */
export interface KeyedRequest {
  /** The same key on another route names another request. */
  readonly route: "query" | "bulk" | "page" | "pages"
  readonly key: string
  /** The decoded request. The key cannot be used for another one. */
  readonly content: string
}

/** Stored for 24 hours. */
export interface KeyedAnswer {
  readonly request: KeyedRequest
  readonly text: string
}

export type KeyedReservation =
  /** The key is new, or its earlier requests were not charged. */
  | { readonly _tag: "held"; readonly hold: Hold }
  /** The same request was charged. `text` is undefined if the response was too large to store. */
  | { readonly _tag: "answered"; readonly text: string | undefined; readonly allowance: Allowance }
  | { readonly _tag: "running" }
  | { readonly _tag: "different" }

export interface Settlement {
  readonly charged: number
  readonly balance: number
}

/**
 * The hold no longer exists: its lease expired, or the database crashed right after the reservation. Its credits were
 * returned, and nothing was charged or logged.
 */
export class HoldExpired extends Data.TaggedError("HoldExpired")<{ readonly holdId: string }> {}

/** The idempotency key was used for a grant with other arguments. */
export class GrantDiffers extends OperatorError("GrantDiffers") {
  static of(idempotencyKey: string): GrantDiffers {
    const message =
      `The idempotency key ${idempotencyKey} belongs to another grant. Repeat it with the same account, credits and ` +
      "reason, or use a new key."
    return new GrantDiffers({ message })
  }
}

export interface Adjustment {
  readonly accountId: string
  /** Not 0. A positive number lets the account spend more, a negative one less. */
  readonly credits: number
  /** `quota` changes the usage of the current period. */
  readonly to: "balance" | "quota"
  readonly reason: string
  readonly by: string
}

/** The books cannot be corrected this way, and nothing changed. The message says why and what to do. */
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
        message: `The pack balance of ${name} is only ${balance}, so ${-credits} credits cannot be taken from it. Take ${balance} or less.`
      })
    }
    const message =
      credits > 0
        ? `${name} has used ${used - held} of its quota in this period (${held} more are held), so ${credits} cannot be given back. Use --to balance for the rest.`
        : `${name} has ${(quota ?? used) - used} left of its quota, so ${-credits} cannot be taken from it. Use --to balance for the rest.`
    return new CorrectionImpossible({ message: message[0]?.toUpperCase() + message.slice(1) })
  }

  static ofRepair({ accountId }: Repair, { expected, what }: Discrepancy): CorrectionImpossible {
    return new CorrectionImpossible({
      message: `The entries of ${accountId} add up to ${expected} for "${what}", which is below 0, below what is held, or beyond the quota. Use --keep figures, then correct with ledger adjust.`
    })
  }
}

export interface Repair {
  /** The account, or the scope of a trial whose account was removed, as named by a discrepancy. */
  readonly accountId: string
  /**
   * `entries`: used and balance are set to the sum of the entries. `figures`: they are kept, and entries are added for
   * the differences. A charge that differs from the log is kept in both cases and explained by a correction.
   */
  readonly keep: "entries" | "figures"
  readonly reason: string
  readonly by: string
}

export const discrepancyKinds = [
  "credits used of the quota",
  "credits used beyond the quota",
  "pack balance",
  "credits owed",
  "credits in the query log",
  "credits spent of a key's budget",
  "closed months of the ledger"
] as const

export interface Discrepancy {
  readonly accountId: string
  readonly what: (typeof discrepancyKinds)[number]
  readonly expected: number
  readonly found: number
}

/** `unauthorized`: the account was deleted after its credential was checked (R85). */
export type ReserveError = QuotaExceeded | Unauthorized

/**
 * The credits of accounts. A hold reserves credits before a search is dispatched; credits that are not charged are
 * returned (R29). At any time and over all replicas, `0 <= used <= quota` and `balance >= 0`.
 *
 * Concurrent calls share a statement, in which the database decides in order of arrival. A database failure is a
 * defect.
 *
 * Layers: `LedgerSql`, and `LedgerMemory` for tests. To provide your own:
 *
 * ```ts
 * const countedLedger = Layer.effect(
 *   Ledger,
 *   Effect.map(Ledger, (ledger) => ({
 *     ...ledger,
 *     sweep: Effect.tap(ledger.sweep, (count) => Effect.logInfo(`${count} holds had expired.`))
 *   }))
 * )
 * ```
 */
export class Ledger extends Context.Service<
  Ledger,
  {
    /**
     * Reserves `credits`, first from the quota, then from the pack balance (R30). Fails if they do not suffice. With
     * `budgets`, these must cover them too (R50, R67), unless they no longer exist.
     */
    readonly reserve: (account: Account, credits: number, budgets?: Budgets) => Effect.Effect<Hold, ReserveError>
    /**
     * `reserve` for a keyed request (R44). Of concurrent requests with one key, only one gets a hold, over all
     * replicas. The key can be used again if the hold ends without a charge. Replays need no credits.
     */
    readonly reserveKeyed: (
      account: Account,
      credits: number,
      request: KeyedRequest,
      budgets?: Budgets
    ) => Effect.Effect<KeyedReservation, ReserveError>
    /**
     * Ends a hold in one transaction: charges the entries' credits, returns the rest (pack credits first), and writes
     * the entries to the query log. The entries must not cost more than the hold. If something is charged, the answer
     * is stored under its key.
     */
    readonly settle: (
      hold: Hold,
      entries: ReadonlyArray<LogEntry>,
      answer?: KeyedAnswer
    ) => Effect.Effect<Settlement, HoldExpired>
    /** Charges and logs one search; the rest stays held. Fails if too little is left. A free entry is a defect. */
    readonly settlePart: (hold: Hold, entry: LogEntry) => Effect.Effect<void, HoldExpired>
    /** The current allowance. Opens a period that has started without a search. */
    readonly allowance: (account: Account) => Effect.Effect<Allowance, Unauthorized>
    /** Like `allowance`, but writes nothing, for read-only commands. */
    readonly peek: (account: Account) => Effect.Effect<Allowance>
    /** Adds credits (above 0) and returns the balance. A repeated key adds nothing and returns the first balance. */
    readonly grant: (
      accountId: string,
      credits: number,
      reason: string,
      idempotencyKey?: string
    ) => Effect.Effect<number, NotFound | GrantDiffers>
    /** Writes an entry that names operator and reason. Fails, and does not clamp, if the account lacks the credits. */
    readonly adjust: (adjustment: Adjustment) => Effect.Effect<Allowance, NotFound | CorrectionImpossible>
    /** Returns the credits of expired holds, each exactly once, and the number of these holds. */
    readonly sweep: Effect.Effect<number>
    /**
     * Compares every account's credits with its entries, holds and log, and records the run for metrics. Returns at
     * most 10,000 discrepancies. Entries that were compared once are closed; a run rereads only some of them.
     */
    readonly verify: Effect.Effect<ReadonlyArray<Discrepancy>>
    /** Also rereads closed entries, so its duration grows with their number. */
    readonly verifyFully: Effect.Effect<ReadonlyArray<Discrepancy>>
    /** Returns the previous discrepancies. Fails if credits would become negative or exceed the quota. */
    readonly repair: (repair: Repair) => Effect.Effect<ReadonlyArray<Discrepancy>, NotFound | CorrectionImpossible>
  }
>()("quarry/services/credits/Ledger") {}
