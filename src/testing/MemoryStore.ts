import { Context, Layer, type Redacted } from "effect"
import type { Account } from "../domain/accounts/Account.ts"
import { mailboxOf } from "../domain/accounts/emailAddress.ts"
import type { PeriodSight, SoldSubscription } from "../domain/billing/Subscription.ts"
import { type Period, periodAt, type TermsTable } from "../domain/credits/Plan.ts"
import { constantHistory, type PlanHistory, type PlanVersion } from "../domain/credits/PlanHistory.ts"
import type { ApiKey } from "../domain/keys/ApiKey.ts"
import { type Budget, budgetPeriodAt } from "../domain/keys/Budget.ts"
import type { KeyBounds } from "../domain/keys/KeyBounds.ts"
import type { Delivery, Endpoint, Event, EventSettings } from "../domain/webhooks/Event.ts"
import type { BookedOrder, InboxItem, Removal, SweepExtent } from "../services/billing/BillingBooks.ts"
import type { Hold, KeyedRequest } from "../services/credits/Ledger.ts"
import type { AuditEntry } from "../services/operations/Audit.ts"
import type { StoredLogEntry } from "../services/search/QueryLog.ts"
import type { Dropped } from "../services/webhooks/EventBooks.ts"

export interface StoredAllowance {
  readonly scope: string
  /** Undefined on the trial. */
  period: Period | undefined
  quota: number | undefined
  used: number
  /** The subscription whose provider gave the period's dates. */
  subscriptionId?: string
}

export interface StoredAccount {
  account: Account
  allowance: StoredAllowance
  balance: number
  owed: number
  /** The number of grants so far. */
  fillings: number
}

/** A key without its bounds, which it shares with the keys before and after its rotations. */
export interface StoredKey extends Omit<ApiKey, "bounds" | "spending"> {
  readonly originId: string
}

/** Credits spent in one period of a key's budget, with those that are held. */
export interface StoredSpending {
  credits: number
}

export interface StoredHold {
  readonly hold: Hold
  readonly allowance: StoredAllowance
  /** Undefined where no budget pays. */
  readonly spending: StoredSpending | undefined
  expiresAt: number
}

/** The use of an idempotency key. */
export interface StoredUse {
  readonly request: KeyedRequest
  readonly holdId: string
  readonly at: number
  /** Undefined until the request is charged. */
  answer: string | undefined
}

export interface LedgerEntry {
  readonly accountId: string
  readonly allowance: StoredAllowance | undefined
  readonly quotaCredits: number
  readonly balanceCredits: number
  /** Added to what is owed. */
  readonly owedCredits?: number
  /** The id of the hold or the grant behind it. */
  readonly cause: string
  /** Of a grant: the pack balance after it, and why it was given. */
  readonly balanceAfter?: number
  readonly reason?: string
  /** True for an entry that brings charges to what the log has. */
  readonly corrects?: true
}

/** The books of payments, and the deliveries that ask for work. */
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
  /** The secret before a rotation, and the end of its grace. */
  old: { readonly secret: Redacted.Redacted; readonly until: number } | undefined
  /** The moment of the last change of address. */
  addressSince: number
  pausedAt: number | undefined
}

export interface StoredDelivery extends Omit<Delivery, "nextAttemptAt" | "event"> {
  readonly event: Event
  /** Undefined for an email. */
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
  /** Of ids. */
  count: number
  hasEmails: boolean
  readonly causes: Set<string>
  readonly settings: Map<string, EventSettings>
  readonly endpoints: Map<string, StoredEndpoint>
  /** Accounts whose endpoints the operator has paused, with the time. */
  readonly paused: Map<string, number>
  deliveries: Array<StoredDelivery>
  /** Dropped deliveries that no replica has collected yet. */
  dropped: Array<Dropped>
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
    /** The last use of each idempotency key, by account, route and key. */
    readonly uses: Map<string, StoredUse>
    readonly entries: Array<LedgerEntry>
    /** The entries of holds that were settled, by the hold's id. */
    readonly settlements: Map<string, LedgerEntry>
    readonly queries: Array<StoredLogEntry & { readonly holdId: string | undefined }>
    /** Keys by secret. */
    readonly keys: Map<string, StoredKey>
    /** Bounds by the origin of their keys. */
    readonly bounds: Map<string, KeyBounds>
    /** By origin, period and its start. */
    readonly spending: Map<string, StoredSpending>
    readonly audit: Array<AuditEntry>
    /** Empty until plans are put in force. */
    readonly planVersions: Array<PlanVersion>
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
      audit: [],
      planVersions: [],
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

/** The limits of the plans that were in force. Before any are stored, the process's own are. */
export const planHistory = ({ planVersions }: MemoryStore["Service"], own: TermsTable): PlanHistory => {
  const [first, ...others] = planVersions
  return first === undefined ? constantHistory(own) : [first, ...others]
}

/** The stored or a new spending of a budget's period at `now`. */
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

/** True while another account has the trial grant of a mailbox. */
const isTaken = (store: MemoryStore["Service"], scope: string, accountId: string): boolean =>
  [...store.accounts.values()].some(({ account, allowance }) => allowance.scope === scope && account.id !== accountId)

/**
 * The stored or a new allowance of the account's period at `now`. With `quota` a stored one gets that quota, but never
 * less than what is used. A mailbox has one trial grant: while another account has it, the quota is `own` (R32).
 */
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
