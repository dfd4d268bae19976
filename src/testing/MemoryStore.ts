import { Context, Layer } from "effect"
import type { Account } from "../domain/Account.ts"
import type { ApiKey } from "../domain/ApiKey.ts"
import { type Period, periodAt } from "../domain/Plan.ts"
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
  /** The hold or the grant it comes from. */
  readonly cause: string
}

/** What the memory layers share, as the SQL layers share a database. For tests: nothing in it is ever dropped. */
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
    /** By secret. */
    readonly keys: Map<string, ApiKey>
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
      keys: new Map()
    })
  )
}

/** The allowance of the account's period at `now`: the one that is there, or a new one. The trial's is the address's. */
export const enterPeriod = (
  store: MemoryStore["Service"],
  account: Account,
  now: number
): { readonly allowance: StoredAllowance; readonly isNew: boolean } => {
  const period = periodAt(account.plan, account.cycleStart, now)
  const scope = period === undefined ? `trial:${account.email}` : account.id
  const key = `${scope} ${period?.start}`
  const present = store.allowances.get(key)
  if (present !== undefined) return { allowance: present, isNew: false }
  const allowance: StoredAllowance = { scope, period, quota: account.quota, used: 0 }
  store.allowances.set(key, allowance)
  return { allowance, isNew: true }
}
