import { Clock, Context, Effect, Layer, type Redacted } from "effect"
import type { Account } from "../domain/accounts/Account.ts"
import { mailboxOf } from "../domain/accounts/emailAddress.ts"
import type { PrincipalBounds } from "../domain/accounts/Principal.ts"
import type { PeriodSight, SoldSubscription } from "../domain/billing/Subscription.ts"
import { type Budget, boundsIdOfMember, budgetPeriodAt, type Spending } from "../domain/credits/Budget.ts"
import { type Period, periodAt } from "../domain/credits/Plan.ts"
import type { NotFound } from "../domain/errors.ts"
import type { ApiKey } from "../domain/keys/ApiKey.ts"
import { type KeyBounds, unbounded } from "../domain/keys/KeyBounds.ts"
import type { Delivery, Endpoint, Event, EventSettings } from "../domain/webhooks/Event.ts"
import { noSuchAccount } from "../services/accounts/Accounts.ts"
import type { BookedOrder, InboxItem, Removal, SweepExtent } from "../services/billing/BillingBooks.ts"
import type { StoredLogEntry } from "../services/charging/QueryLog.ts"
import type { Hold, KeyedRequest } from "../services/credits/Ledger.ts"
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
  grantCount: number
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
  readonly spendings: ReadonlyArray<StoredSpending>
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

interface StoredInboxItem {
  item: InboxItem
  dueAt: number
  doneAt: number | undefined
  readonly receivedAt: number
}

const emptyBilling = () => ({
  reading: 0,
  accounts: new Map<
    string,
    { customerId: string | undefined; reading: number; blockedAt: number | undefined; askedAt: number | undefined }
  >(),
  subscriptions: new Map<string, { subscription: SoldSubscription; accountId: string; sight: PeriodSight }>(),
  orders: new Map<string, { order: BookedOrder; reading: number; changes: number }>(),
  inbox: new Map<string, StoredInboxItem>(),
  removals: new Map<string, { removal: Removal; dueAt: number }>(),
  sweeps: new Map<SweepExtent, { begunAt: number | undefined; dueAt: number; leaseUntil: number }>()
})

const emptyEvents = () => {
  const deliveries: Array<StoredDelivery> = []
  const dropped: Array<Dropped> = []
  return {
    count: 0,
    hasEmails: false,
    causes: new Set<string>(),
    settings: new Map<string, EventSettings>(),
    endpoints: new Map<string, StoredEndpoint>(),
    paused: new Map<string, number>(),
    deliveries,
    dropped
  }
}

const emptyStore = () => {
  const entries: Array<LedgerEntry> = []
  const queries: Array<StoredLogEntry & { readonly holdId: string | undefined }> = []
  return {
    accounts: new Map<string, StoredAccount>(),
    subscribers: new Map<string, string>(),
    allowances: new Map<string, StoredAllowance>(),
    holds: new Map<string, StoredHold>(),
    uses: new Map<string, StoredUse>(),
    entries,
    settlements: new Map<string, LedgerEntry>(),
    queries,
    keys: new Map<string, StoredKey>(),
    bounds: new Map<string, KeyBounds>(),
    /** By key origin, period and its start. */
    spending: new Map<string, StoredSpending>(),
    billing: emptyBilling(),
    events: emptyEvents()
  }
}

export type Store = Readonly<ReturnType<typeof emptyStore>>

/** Shared by the memory layers, as the SQL layers share a database. It never shrinks, so it is for tests only. */
export class MemoryStore extends Context.Service<MemoryStore, Store>()("quarry/testing/MemoryStore") {
  static readonly layer = Layer.sync(MemoryStore, emptyStore)
}

/** Each operation is one synchronous step, so the layers need no locks. */
export const atNow = <A>(step: (now: number) => A): Effect.Effect<A> => Effect.map(Clock.currentTimeMillis, step)

export const findAccount = (store: Store, id: string): Effect.Effect<StoredAccount, NotFound> => {
  const stored = store.accounts.get(id)
  return stored === undefined ? Effect.fail(noSuchAccount(id)) : Effect.succeed(stored)
}

export const enterSpending = (store: Store, originId: string, { period }: Budget, now: number): StoredSpending => {
  const name = `${originId} ${period} ${budgetPeriodAt(period, now).start}`
  const spending = store.spending.get(name) ?? { credits: 0 }
  store.spending.set(name, spending)
  return spending
}

/** The bounds that an owner set for the person (R67), as a principal has them. */
export const boundsOfMember = (store: Store, accountId: string, personId: string): PrincipalBounds | undefined => {
  const id = boundsIdOfMember(accountId, personId)
  const { budget, targets } = store.bounds.get(id) ?? unbounded
  if (budget === undefined && targets === undefined) return undefined
  return { budgets: budget && { member: id }, targets, networks: undefined }
}

export const spendingOf = (store: Store, boundsId: string, { budget }: KeyBounds, now: number): Spending | undefined =>
  budget && {
    credits: enterSpending(store, boundsId, budget, now).credits,
    resetsAt: budgetPeriodAt(budget.period, now).end
  }

const isTaken = (store: Store, scope: string, accountId: string): boolean =>
  [...store.accounts.values()].some(({ account, allowance }) => allowance.scope === scope && account.id !== accountId)

/** The quota is never below the used credits. `own` applies while another account has the mailbox's trial (R32). */
export const enterPeriod = (
  store: Store,
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
