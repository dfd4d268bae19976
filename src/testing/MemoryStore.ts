import { Context, Layer } from "effect"
import type { Account } from "../domain/Account.ts"
import type { ApiKey } from "../domain/ApiKey.ts"
import { type Period, periodAt } from "../domain/Plan.ts"
import type { AuditEntry } from "../services/Audit.ts"
import type { Hold } from "../services/Ledger.ts"
import type { StoredLogEntry } from "../services/QueryLog.ts"

export interface StoredAllowance {
  readonly scope: string
  /** Undefined on the trial. */
  readonly period: Period | undefined
  quota: number | undefined
  used: number
}

export interface StoredAccount {
  account: Account
  allowance: StoredAllowance
  balance: number
}

export interface StoredHold {
  readonly hold: Hold
  readonly allowance: StoredAllowance
  expiresAt: number
}

export interface LedgerEntry {
  readonly accountId: string
  readonly allowance: StoredAllowance | undefined
  readonly quotaCredits: number
  readonly balanceCredits: number
  /** The id of the hold or the grant behind it. */
  readonly cause: string
  /** Of a grant: the pack balance after it, and why it was given. */
  readonly balanceAfter?: number
  readonly reason?: string
  /** True for an entry that brings charges to what the log has. */
  readonly corrects?: true
}

/** The data that the memory layers share, as the SQL layers share a database. It only grows, and so serves tests only. */
export class MemoryStore extends Context.Service<
  MemoryStore,
  {
    readonly accounts: Map<string, StoredAccount>
    /** Ids of accounts by marketplace subscriber. */
    readonly subscribers: Map<string, string>
    readonly allowances: Map<string, StoredAllowance>
    readonly holds: Map<string, StoredHold>
    readonly entries: Array<LedgerEntry>
    readonly queries: Array<StoredLogEntry & { readonly holdId: string | undefined }>
    /** Keys by secret. */
    readonly keys: Map<string, ApiKey>
    readonly audit: Array<AuditEntry>
  }
>()("quarry/testing/MemoryStore") {
  static readonly layer = Layer.sync(MemoryStore, () =>
    MemoryStore.of({
      accounts: new Map(),
      subscribers: new Map(),
      allowances: new Map(),
      holds: new Map(),
      entries: [],
      queries: [],
      keys: new Map(),
      audit: []
    })
  )
}

/** The stored or a new allowance of the account's period at `now`. That of the trial belongs to the email address. */
export const enterPeriod = (
  store: MemoryStore["Service"],
  account: Account,
  now: number
): { readonly allowance: StoredAllowance; readonly isNew: boolean } => {
  const period = periodAt(account.plan, account.cycleStart, now)
  const scope = period === undefined ? `trial:${account.email}` : account.id
  const key = `${scope} ${period?.start}`
  const existing = store.allowances.get(key)
  if (existing !== undefined) return { allowance: existing, isNew: false }
  const allowance: StoredAllowance = { scope, period, quota: account.quota, used: 0 }
  store.allowances.set(key, allowance)
  return { allowance, isNew: true }
}
