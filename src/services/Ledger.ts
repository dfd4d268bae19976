import { Context, Data, type Effect } from "effect"
import type { Account, Allowance } from "../domain/Account.ts"
import type { NotFound, QuotaExceeded } from "../domain/errors.ts"
import type { LogEntry } from "../domain/LogEntry.ts"

/** Credits taken out of an account for searches that are about to be dispatched. It ends exactly once (I3). */
export interface Hold {
  /** `hld_` and 32 hex characters. */
  readonly id: string
  readonly accountId: string
  readonly fromQuota: number
  readonly fromBalance: number
  /** What the account could spend as the request arrived, before this hold. */
  readonly before: Allowance
}

export interface Settlement {
  /** Credits charged: the sum over the entries. */
  readonly charged: number
  /** Pack credits left after it. */
  readonly balance: number
}

/**
 * The hold's lease ran out, or the database crashed right after it was taken. Its credits have gone back: nothing was
 * charged and nothing logged.
 */
export class HoldExpired extends Data.TaggedError("HoldExpired")<{ readonly holdId: string }> {}

/** One thing that does not add up. */
export interface Discrepancy {
  readonly accountId: string
  readonly what: string
  readonly expected: number
  readonly found: number
}

/**
 * Credits. They are taken before a search is dispatched and given back when it turns out not to be chargeable (R29), so
 * that at any instant and over all replicas `0 <= used <= quota` and `balance >= 0` (I1).
 *
 * Calls that arrive together are carried by one statement; which of them fit is decided in arrival order by the
 * database. A failure of the store is a defect.
 */
export class Ledger extends Context.Service<
  Ledger,
  {
    /** Takes `credits`, from the quota first and then from the pack balance (R30), or nothing at all. */
    readonly reserve: (account: Account, credits: number) => Effect.Effect<Hold, QuotaExceeded>
    /**
     * Ends a hold: charges what the entries say, gives the rest back (pack credits first) and writes the entries to
     * the query log, all in one transaction. Without entries it releases the hold. The entries' credits must not
     * exceed the hold.
     */
    readonly settle: (hold: Hold, entries: ReadonlyArray<LogEntry>) => Effect.Effect<Settlement, HoldExpired>
    /** What the account can spend now. */
    readonly allowance: (account: Account) => Effect.Effect<Allowance>
    /** Adds pack credits. `credits` is positive. Answers the new balance. */
    readonly grant: (accountId: string, credits: number, reason: string) => Effect.Effect<number, NotFound>
    /** Gives back the credits of holds whose lease ran out, each exactly once. Answers how many there were. */
    readonly sweep: Effect.Effect<number>
    /** Recomputes every account from its entries, holds and log. Empty when everything agrees (I1, I2). */
    readonly verify: Effect.Effect<ReadonlyArray<Discrepancy>>
  }
>()("quarry/services/Ledger") {}
