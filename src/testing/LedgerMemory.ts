import { Clock, Effect, Layer } from "effect"
import { accountAt } from "../domain/accounts/Account.ts"
import { type Allowance, giveBack, split } from "../domain/credits/Allowance.ts"
import type { Budgets } from "../domain/credits/Budget.ts"
import { QuotaExceeded } from "../domain/errors.ts"
import type { LogEntry } from "../domain/log/LogEntry.ts"
import {
  type Adjustment,
  CorrectionImpossible,
  type Discrepancy,
  GrantDiffers,
  type Hold,
  HoldExpired,
  type KeyedAnswer,
  type KeyedRequest,
  type KeyedReservation,
  Ledger,
  type Repair,
  type ReserveError
} from "../services/credits/Ledger.ts"
import { Ids } from "../services/Ids.ts"
import { addCredits } from "./credits.ts"
import { noticePeriod, noticePlan, noticeUse } from "./events.ts"
import {
  atNow,
  enterPeriod,
  enterSpending,
  findAccount,
  type LedgerEntry,
  MemoryStore,
  type Store,
  type StoredAccount,
  type StoredSpending
} from "./MemoryStore.ts"

const leaseMs = 105_000

interface Deps {
  readonly store: Store
  readonly ids: Ids["Service"]
}

export const layer: Layer.Layer<Ledger, never, MemoryStore | Ids> = Layer.effect(
  Ledger,
  Effect.gen(function* () {
    const deps: Deps = { store: yield* MemoryStore, ids: yield* Ids }
    return Ledger.of({
      reserve: (account, credits, budgets) => reserve(deps, account.id, credits, budgets),
      allowance: (account) => allowance(deps.store, account.id),
      peek: (account) => peek(deps.store, account.id),
      reserveKeyed: (account, credits, request, budgets) => reserveKeyed(deps, account.id, credits, request, budgets),
      settle: (hold, entries, answer) => settle(deps.store, hold, entries, answer),
      settlePart: (hold, entry) => settlePart(deps, hold, entry),
      grant: (accountId, credits, reason, idempotencyKey) => grant(deps, accountId, credits, reason, idempotencyKey),
      adjust: (adjustment) => adjust(deps, adjustment),
      sweep: atNow((now) => sweep(deps.store, now)),
      verify: Effect.sync(() => discrepancies(deps.store)),
      verifyFully: Effect.sync(() => discrepancies(deps.store)),
      repair: (asked) => repair(deps, asked)
    })
  })
)

/** Requests have an authenticated account, so a missing one is a bug. */
const find = (store: Store, accountId: string) => Effect.orDie(findAccount(store, accountId))

const advance = (store: Store, stored: StoredAccount, now: number): void => {
  const account = accountAt(stored.account, now)
  if (account === stored.account) return
  const { plan } = stored.account
  stored.account = account
  noticePlan(store, stored, plan, now)
  if (account.plan !== "trial") return
  stored.allowance = enterPeriod(store, account, now, { quota: account.quota ?? 0 })
}

const current = (store: Store, stored: StoredAccount, now: number): Allowance => {
  advance(store, stored, now)
  const { period } = stored.allowance
  if (period !== undefined && period.end <= now) {
    const ended = stored.allowance
    stored.allowance = enterPeriod(store, stored.account, now)
    noticePeriod(store, stored, ended, now)
  }
  return {
    plan: stored.account.plan,
    quota: stored.allowance.quota,
    used: stored.allowance.used,
    balance: stored.balance,
    periodStart: stored.allowance.period?.start,
    resetsAt: stored.allowance.period?.end
  }
}

const allowance = Effect.fnUntraced(function* (store: Store, accountId: string) {
  const stored = yield* find(store, accountId)
  return current(store, stored, yield* Clock.currentTimeMillis)
})

const peek = Effect.fnUntraced(function* (store: Store, accountId: string) {
  const stored = yield* find(store, accountId)
  const copy = {
    ...store,
    allowances: new Map(Array.from(store.allowances, ([key, allowance]) => [key, { ...allowance }])),
    events: { ...store.events, causes: new Set<string>(), endpoints: new Map(), deliveries: [] }
  }
  return current(copy, { ...stored }, yield* Clock.currentTimeMillis)
})

const reserve = Effect.fnUntraced(function* (
  { ids, store }: Deps,
  accountId: string,
  credits: number,
  budgets: Budgets = {}
) {
  const stored = yield* find(store, accountId)
  const id = yield* ids.make("hld_")
  const now = yield* Clock.currentTimeMillis
  const before = current(store, stored, now)
  const spendings: Array<StoredSpending> = []
  for (const budgetId of [budgets.own, budgets.member]) {
    const budget = budgetId === undefined ? undefined : store.bounds.get(budgetId)?.budget
    if (budgetId === undefined || budget === undefined) continue
    const spending = enterSpending(store, budgetId, budget, now)
    if (spending.credits + credits > budget.credits) {
      return yield* QuotaExceeded.ofBudget(before, credits, { ...budget, budgetId }, spending.credits)
    }
    spendings.push(spending)
  }
  const shares = split(before, credits)
  if (shares === undefined) return yield* QuotaExceeded.of(before, credits)
  stored.allowance.used += shares.fromQuota
  stored.balance -= shares.fromBalance
  for (const spending of spendings) spending.credits += credits
  const hold: Hold = { id, accountId, ...shares, before }
  store.holds.set(id, { hold, allowance: stored.allowance, spendings, expiresAt: now + leaseMs })
  noticeUse(store, stored, before, now)
  return hold
})

const dayMs = 86_400_000

const useName = (accountId: string, { key, route }: KeyedRequest): string => JSON.stringify([accountId, route, key])

const reserveKeyed = Effect.fnUntraced(function* (
  deps: Deps,
  accountId: string,
  credits: number,
  request: KeyedRequest,
  budgets: Budgets | undefined
): Effect.fn.Return<KeyedReservation, ReserveError> {
  const { store } = deps
  const at = yield* Clock.currentTimeMillis
  const name = useName(accountId, request)
  const use = store.uses.get(name)
  if (use !== undefined && use.at > at - dayMs && (use.answer !== undefined || store.holds.has(use.holdId))) {
    if (use.request.content !== request.content) return { _tag: "different" }
    if (use.answer === undefined) return { _tag: "running" }
    return { _tag: "answered", text: use.answer, allowance: yield* allowance(store, accountId) }
  }
  const hold = yield* reserve(deps, accountId, credits, budgets)
  store.uses.set(name, { request, holdId: hold.id, at, answer: undefined })
  return { _tag: "held", hold }
})

/** Returns uncharged credits to their source. Undefined if the hold has already ended. */
const end = (store: Store, id: string, charge: number): LedgerEntry | undefined => {
  const stored = store.holds.get(id)
  if (stored === undefined) return undefined
  store.holds.delete(id)
  const { toBalance, toQuota } = giveBack(stored.hold, charge)
  stored.allowance.used -= toQuota
  for (const spending of stored.spendings) spending.credits -= toQuota + toBalance
  const account = store.accounts.get(stored.hold.accountId)
  if (account !== undefined) account.balance += toBalance
  return {
    accountId: stored.hold.accountId,
    allowance: stored.allowance,
    quotaCredits: stored.hold.fromQuota - toQuota,
    balanceCredits: toBalance - stored.hold.fromBalance,
    cause: id
  }
}

const settle = Effect.fnUntraced(function* (
  store: Store,
  hold: Hold,
  entries: ReadonlyArray<LogEntry>,
  answer: KeyedAnswer | undefined
) {
  const charge = entries.reduce((sum, entry) => sum + entry.credits, 0)
  if (charge > hold.fromQuota + hold.fromBalance) {
    return yield* Effect.die(new RangeError(`hold ${hold.id}: more charged than held`))
  }
  // An account may be removed while it searches.
  const balance = () => store.accounts.get(hold.accountId)?.balance ?? 0
  const earlier = store.settlements.get(hold.id)
  if (earlier !== undefined) {
    return { charged: earlier.quotaCredits - earlier.balanceCredits, balance: balance() }
  }
  const at = yield* Clock.currentTimeMillis
  const ledgerEntry = end(store, hold.id, charge)
  if (ledgerEntry === undefined) return yield* new HoldExpired({ holdId: hold.id })
  if (charge > 0) {
    store.entries.push(ledgerEntry)
    store.settlements.set(hold.id, ledgerEntry)
  }
  const use = answer === undefined ? undefined : store.uses.get(useName(hold.accountId, answer.request))
  if (charge > 0 && use?.holdId === hold.id) use.answer = answer?.text
  store.queries.push(...entries.map((entry) => ({ ...entry, holdId: hold.id, at })))
  return { charged: charge, balance: balance() }
})

const settlePart = Effect.fnUntraced(function* ({ ids, store }: Deps, { id }: Hold, entry: LogEntry) {
  const { credits } = entry
  if (credits < 1) return yield* Effect.die(new RangeError(`hold ${id}: a part of ${credits} credits`))
  const partId = yield* ids.make("hld_")
  const at = yield* Clock.currentTimeMillis
  const stored = store.holds.get(id)
  if (stored === undefined || stored.hold.fromQuota + stored.hold.fromBalance < credits) {
    return yield* new HoldExpired({ holdId: id })
  }
  const { allowance, hold } = stored
  const quotaCredits = Math.min(credits, hold.fromQuota)
  const balanceCredits = quotaCredits - credits
  const left = { fromQuota: hold.fromQuota - quotaCredits, fromBalance: hold.fromBalance + balanceCredits }
  store.holds.set(id, { ...stored, hold: { ...hold, ...left } })
  store.entries.push({ accountId: hold.accountId, allowance, quotaCredits, balanceCredits, cause: partId })
  store.queries.push({ ...entry, holdId: partId, at })
})

const grant = Effect.fnUntraced(function* (
  { ids, store }: Deps,
  accountId: string,
  credits: number,
  reason: string,
  idempotencyKey: string | undefined
) {
  const cause = idempotencyKey === undefined ? yield* ids.requestId : `grant-key:${idempotencyKey}`
  const stored = yield* findAccount(store, accountId)
  const earlier = store.entries.find((entry) => entry.cause === cause)
  if (earlier?.balanceAfter !== undefined) {
    const isSame = earlier.accountId === accountId && earlier.balanceCredits === credits && earlier.reason === reason
    return isSame ? earlier.balanceAfter : yield* GrantDiffers.of(idempotencyKey ?? "")
  }
  return addCredits(store, stored, { credits, cause, reason, grantedAt: yield* Clock.currentTimeMillis })
})

const adjust = Effect.fnUntraced(function* ({ ids, store }: Deps, adjustment: Adjustment) {
  const { accountId, credits, to } = adjustment
  const cause = `adjustment:${yield* ids.requestId}`
  const stored = yield* findAccount(store, accountId)
  const now = yield* Clock.currentTimeMillis
  const before = current(store, stored, now)
  const held = sum(
    Array.from(store.holds.values()).filter(({ allowance }) => allowance === stored.allowance),
    ({ hold }) => hold.fromQuota
  )
  const used = before.used - credits
  const isPossible =
    to === "balance"
      ? before.balance + credits >= 0
      : used >= held && (before.quota === undefined || used <= before.quota)
  if (!isPossible) return yield* CorrectionImpossible.ofAdjustment(adjustment, { ...before, held })
  if (to === "balance") {
    stored.balance += credits
    if (credits > 0) stored.grantCount += 1
  } else stored.allowance.used = used
  store.entries.push({
    accountId,
    allowance: to === "quota" ? stored.allowance : undefined,
    quotaCredits: to === "quota" ? -credits : 0,
    balanceCredits: to === "balance" ? credits : 0,
    cause
  })
  noticeUse(store, stored, before, now)
  return current(store, stored, now)
})

const sweep = (store: Store, now: number): number => {
  const expired = [...store.holds.values()].filter((stored) => stored.expiresAt <= now)
  for (const { hold } of expired) end(store, hold.id, 0)
  return expired.length
}

const repair = Effect.fnUntraced(function* ({ ids, store }: Deps, asked: Repair) {
  const stored = yield* findAccount(store, asked.accountId)
  const found = discrepancies(store).filter(({ accountId }) => accountId === asked.accountId)
  const { allowance } = stored
  for (const discrepancy of found) {
    const cause = `repair:${yield* ids.requestId}`
    const excess = discrepancy.found - discrepancy.expected
    const entry = { accountId: asked.accountId, allowance: undefined, quotaCredits: 0, balanceCredits: 0, cause }
    if (discrepancy.what === "credits in the query log") {
      store.entries.push({ ...entry, quotaCredits: excess, corrects: true }, { ...entry, quotaCredits: -excess })
    } else if (asked.keep === "figures") {
      if (discrepancy.what === "pack balance") store.entries.push({ ...entry, balanceCredits: excess })
      else if (discrepancy.what === "credits owed") store.entries.push({ ...entry, owedCredits: excess })
      else store.entries.push({ ...entry, allowance, quotaCredits: excess })
    } else {
      const isQuota = discrepancy.what !== "pack balance" && discrepancy.what !== "credits owed"
      const most = isQuota ? (allowance.quota ?? discrepancy.expected) : Number.POSITIVE_INFINITY
      if (discrepancy.expected < 0 || discrepancy.expected > most) {
        return yield* CorrectionImpossible.ofRepair(asked, discrepancy)
      }
      if (discrepancy.what === "pack balance") stored.balance = discrepancy.expected
      else if (discrepancy.what === "credits owed") stored.owed = discrepancy.expected
      else allowance.used = discrepancy.expected
    }
  }
  return found
})

const sum = <A>(items: Iterable<A>, credits: (item: A) => number): number => {
  let total = 0
  for (const item of items) total += credits(item)
  return total
}

const discrepancies = (store: Store): ReadonlyArray<Discrepancy> => {
  const result: Array<Discrepancy> = []
  const compare = (accountId: string, what: Discrepancy["what"], expected: number, actual: number) => {
    if (expected !== actual) result.push({ accountId, what, expected, found: actual })
  }
  for (const { account, allowance, balance, owed } of store.accounts.values()) {
    const entries = store.entries.filter((entry) => entry.accountId === account.id)
    const holds = [...store.holds.values()].filter(({ hold }) => hold.accountId === account.id)
    const entriesOfAllowance = store.entries.filter((entry) => entry.allowance === allowance)
    const holdsOfAllowance = [...store.holds.values()].filter((stored) => stored.allowance === allowance)
    compare(
      account.id,
      "credits used of the quota",
      sum(entriesOfAllowance, (entry) => entry.quotaCredits) + sum(holdsOfAllowance, ({ hold }) => hold.fromQuota),
      allowance.used
    )
    compare(
      account.id,
      "pack balance",
      sum(entries, (entry) => entry.balanceCredits) - sum(holds, ({ hold }) => hold.fromBalance),
      balance
    )
    compare(
      account.id,
      "credits owed",
      sum(entries, (entry) => entry.owedCredits ?? 0),
      owed
    )
    const charges = entries.filter(({ cause, corrects }) => cause.startsWith("hld_") || corrects === true)
    const queries = store.queries.filter((query) => query.accountId === account.id && query.holdId !== undefined)
    compare(
      account.id,
      "credits in the query log",
      sum(charges, (entry) => entry.quotaCredits - entry.balanceCredits),
      sum(queries, (query) => query.credits)
    )
  }
  return result
}
