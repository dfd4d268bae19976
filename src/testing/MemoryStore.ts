import { Context, Layer, type Redacted } from "effect"
import type { Account } from "../domain/accounts/Account.ts"
import { mailboxOf } from "../domain/accounts/emailAddress.ts"
import type { PeriodSight, SoldSubscription } from "../domain/billing/Subscription.ts"
import { type Period, periodAt } from "../domain/credits/Plan.ts"
import type { ApiKey } from "../domain/keys/ApiKey.ts"
import { type Budget, budgetPeriodAt } from "../domain/keys/Budget.ts"
import type { KeyBounds } from "../domain/keys/KeyBounds.ts"
import type { Delivery, Endpoint, Event, EventSettings } from "../domain/webhooks/Event.ts"
import type { BookedOrder, InboxItem, Removal, SweepExtent } from "../services/billing/BillingBooks.ts"
import type { Hold, KeyedRequest } from "../services/credits/Ledger.ts"
import type { StoredLogEntry } from "../services/search/QueryLog.ts"
import type { Dropped } from "../services/webhooks/EventBooks.ts"

export interface StoredAllowance {
  readonly scope: string
  period: Period | undefined
  quota: number | undefined
  used: number
  /** The subscription that determined the period's dates. */
  subscriptionId?: string
}

export interface StoredAccount {
  account: Account
  allowance: StoredAllowance
  balance: number
  owed: number
  fillings: number
}

/** The bounds are stored by origin. */
export interface StoredKey extends Omit<ApiKey, "bounds" | "spending"> {
  readonly originId: string
}

export interface StoredSpending {
  credits: number
}

export interface StoredHold {
  readonly hold: Hold
  readonly allowance: StoredAllowance
  readonly spending: StoredSpending | undefined
  expiresAt: number
}

export interface StoredUse {
  readonly request: KeyedRequest
  readonly holdId: string
  readonly at: number
  answer: string | undefined
}

export interface LedgerEntry {
  readonly accountId: string
  readonly allowance: StoredAllowance | undefined
  readonly quotaCredits: number
  readonly balanceCredits: number
  readonly owedCredits?: number
  readonly cause: string
  readonly balanceAfter?: number
  readonly reason?: string
  readonly corrects?: true
}

export interface StoredBilling {
  reading: number
  readonly accounts: Map<
    string,
    { customerId: string | undefined; reading: number; blockedAt: number | undefined; askedAt: number | undefined }
  >
  readonly subscriptions: Map<string, { subscription: SoldSubscription; accountId: string; sight: PeriodSight }>
  readonly orders: Map<string, { order: BookedOrder; reading: number; changes: number }>
  readonly inbox: Map<string, { item: InboxItem; dueAt: number; doneAt: number | undefined; receivedAt: number }>
  readonly removals: Map<string, { removal: Removal; dueAt: number }>
  readonly sweeps: Map<SweepExtent, { begunAt: number | undefined; dueAt: number; leaseUntil: number }>
}

export interface StoredEndpoint {
  endpoint: Endpoint
  secret: Redacted.Redacted
  old: { readonly secret: Redacted.Redacted; readonly until: number } | undefined
  addressSince: number
  pausedAt: number | undefined
}

export interface StoredDelivery extends Omit<Delivery, "nextAttemptAt" | "event"> {
  readonly event: Event
  readonly endpointId: string | undefined
  status: Delivery["status"]
  dueAt: number
  isTaken: boolean
  attempts: number
  attemptedAt: number | undefined
  httpStatus: number | undefined
  error: string | undefined
  durationMs: number | undefined
}

export interface StoredEvents {
  count: number
  hasEmails: boolean
  readonly causes: Set<string>
  readonly settings: Map<string, EventSettings>
  readonly endpoints: Map<string, StoredEndpoint>
  readonly paused: Map<string, number>
  deliveries: Array<StoredDelivery>
  dropped: Array<Dropped>
}

/** Shared by the memory layers, as the SQL layers share a database. It never shrinks, so it is for tests only. */
export class MemoryStore extends Context.Service<
  MemoryStore,
  {
    readonly accounts: Map<string, StoredAccount>
    readonly subscribers: Map<string, string>
    readonly allowances: Map<string, StoredAllowance>
    readonly holds: Map<string, StoredHold>
    readonly uses: Map<string, StoredUse>
    readonly entries: Array<LedgerEntry>
    readonly settlements: Map<string, LedgerEntry>
    readonly queries: Array<StoredLogEntry & { readonly holdId: string | undefined }>
    readonly keys: Map<string, StoredKey>
    readonly bounds: Map<string, KeyBounds>
    /** By key origin, period and its start. */
    readonly spending: Map<string, StoredSpending>
    readonly billing: StoredBilling
    readonly events: StoredEvents
  }
>()("quarry/testing/MemoryStore") {
  static readonly layer = Layer.sync(MemoryStore, () =>
    MemoryStore.of({
      accounts: new Map(),
      subscribers: new Map(),
      allowances: new Map(),
      holds: new Map(),
      uses: new Map(),
      entries: [],
      settlements: new Map(),
      queries: [],
      keys: new Map(),
      bounds: new Map(),
      spending: new Map(),
      billing: {
        reading: 0,
        accounts: new Map(),
        subscriptions: new Map(),
        orders: new Map(),
        inbox: new Map(),
        removals: new Map(),
        sweeps: new Map()
      },
      events: {
        count: 0,
        hasEmails: false,
        causes: new Set(),
        settings: new Map(),
        endpoints: new Map(),
        paused: new Map(),
        deliveries: [],
        dropped: []
      }
    })
  )
}

export const enterSpending = (
  store: MemoryStore["Service"],
  originId: string,
  { period }: Budget,
  now: number
): StoredSpending => {
  const name = `${originId} ${period} ${budgetPeriodAt(period, now).start}`
  const spending = store.spending.get(name) ?? { credits: 0 }
  store.spending.set(name, spending)
  return spending
}

const isTaken = (store: MemoryStore["Service"], scope: string, accountId: string): boolean =>
  [...store.accounts.values()].some(({ account, allowance }) => allowance.scope === scope && account.id !== accountId)

/** The quota is never below the used credits. `own` applies while another account has the mailbox's trial (R32). */
export const enterPeriod = (
  store: MemoryStore["Service"],
  account: Account,
  now: number,
  { own = 0, quota }: { readonly quota?: number | undefined; readonly own?: number | undefined } = {}
): StoredAllowance => {
  const period = periodAt(account.plan, account.cycleStart, now)
  const grant = `trial:${mailboxOf(account.email)}`
  const hasOwn = period === undefined && isTaken(store, grant, account.id)
  const scope = period !== undefined ? account.id : hasOwn ? `${grant}:${account.id}` : grant
  const key = `${scope} ${period?.start}`
  const existing = store.allowances.get(key)
  if (existing === undefined) {
    const allowance: StoredAllowance = { scope, period, quota: hasOwn ? own : account.quota, used: 0 }
    store.allowances.set(key, allowance)
    return allowance
  }
  if (quota !== undefined) existing.quota = Math.max(hasOwn ? own : quota, existing.used)
  return existing
}
