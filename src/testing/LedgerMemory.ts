import { Clock, Duration, Effect, Layer } from "effect"
import { type Allowance, giveBack, split } from "../domain/Account.ts"
import { NotFound, QuotaExceeded } from "../domain/errors.ts"
import type { LogEntry } from "../domain/LogEntry.ts"
import { Ids } from "../services/Ids.ts"
import {
  type Adjustment,
  CorrectionImpossible,
  type Discrepancy,
  GrantDiffers,
  type Hold,
  HoldExpired,
  Ledger,
  type Repair
} from "../services/Ledger.ts"
import { enterPeriod, type LedgerEntry, MemoryStore, type StoredAccount } from "./MemoryStore.ts"

export interface LedgerOptions {
  /** Lifetime of a hold that is not settled. */
  readonly lease?: Duration.Duration | undefined
}

const defaultLease = Duration.seconds(105)

type Store = MemoryStore["Service"]

interface Deps {
  readonly store: Store
  readonly ids: Ids["Service"]
  readonly leaseMs: number
}

/** The ledger in memory. Each operation is one synchronous step, so that none needs a lock. */
export const layer = (options: LedgerOptions = {}): Layer.Layer<Ledger, never, MemoryStore | Ids> =>
  Layer.effect(
    Ledger,
    Effect.gen(function* () {
      const deps: Deps = {
        store: yield* MemoryStore,
        ids: yield* Ids,
        leaseMs: Duration.toMillis(options.lease ?? defaultLease)
      }
      return Ledger.of({
        reserve: (account, credits) => reserve(deps, account.id, credits),
        allowance: (account) => allowance(deps.store, account.id),
        settle: (hold, entries) => settle(deps.store, hold, entries),
        grant: (accountId, credits, reason, idempotencyKey) => grant(deps, accountId, credits, reason, idempotencyKey),
        adjust: (adjustment) => adjust(deps, adjustment),
        sweep: Effect.map(Clock.currentTimeMillis, (now) => sweep(deps.store, now)),
        verify: Effect.sync(() => discrepancies(deps.store)),
        repair: (it) => repair(deps, it)
      })
    })
  )

const find = (store: Store, accountId: string): Effect.Effect<StoredAccount> => {
  const stored = store.accounts.get(accountId)
  return stored === undefined ? Effect.die(new Error(`account ${accountId} does not exist`)) : Effect.succeed(stored)
}

/** The allowance of the current period. Opens the next one where the stored one has ended. */
const current = (store: Store, stored: StoredAccount, now: number): Allowance => {
  const { period } = stored.allowance
  if (period !== undefined && period.end <= now) stored.allowance = enterPeriod(store, stored.account, now).allowance
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

const reserve = Effect.fnUntraced(function* ({ ids, leaseMs, store }: Deps, accountId: string, credits: number) {
  const stored = yield* find(store, accountId)
  const id = yield* ids.make("hld_")
  const now = yield* Clock.currentTimeMillis
  const before = current(store, stored, now)
  const shares = split(before, credits)
  if (shares === undefined) return yield* QuotaExceeded.of(before, credits)
  stored.allowance.used += shares.fromQuota
  stored.balance -= shares.fromBalance
  const hold: Hold = { id, accountId, ...shares, before }
  store.holds.set(id, { hold, allowance: stored.allowance, expiresAt: now + leaseMs })
  return hold
})

/** Ends a hold and returns the credits that are not charged to where they came from. Undefined where it has ended. */
const end = (store: Store, id: string, charge: number): LedgerEntry | undefined => {
  const stored = store.holds.get(id)
  if (stored === undefined) return undefined
  store.holds.delete(id)
  const { toBalance, toQuota } = giveBack(stored.hold, charge)
  stored.allowance.used -= toQuota
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

const settle = Effect.fnUntraced(function* (store: Store, hold: Hold, entries: ReadonlyArray<LogEntry>) {
  const charge = entries.reduce((sum, entry) => sum + entry.credits, 0)
  if (charge > hold.fromQuota + hold.fromBalance) {
    return yield* Effect.die(new RangeError(`hold ${hold.id}: more charged than held`))
  }
  const stored = yield* find(store, hold.accountId)
  const earlier = store.entries.find(({ cause }) => cause === hold.id)
  if (earlier !== undefined) {
    return { charged: earlier.quotaCredits - earlier.balanceCredits, balance: stored.balance }
  }
  const at = yield* Clock.currentTimeMillis
  const ledgerEntry = end(store, hold.id, charge)
  if (ledgerEntry === undefined) return yield* new HoldExpired({ holdId: hold.id })
  if (charge > 0) store.entries.push(ledgerEntry)
  store.queries.push(...entries.map((entry) => ({ ...entry, holdId: hold.id, at })))
  return { charged: charge, balance: stored.balance }
})

const grant = Effect.fnUntraced(function* (
  { ids, store }: Deps,
  accountId: string,
  credits: number,
  reason: string,
  idempotencyKey: string | undefined
) {
  const cause = idempotencyKey === undefined ? yield* ids.requestId : `grant-key:${idempotencyKey}`
  const stored = store.accounts.get(accountId)
  if (stored === undefined) return yield* new NotFound({ message: `There is no account ${accountId}.` })
  const earlier = store.entries.find((entry) => entry.cause === cause)
  if (earlier?.balanceAfter !== undefined) {
    const isSame = earlier.accountId === accountId && earlier.balanceCredits === credits && earlier.reason === reason
    return isSame ? earlier.balanceAfter : yield* GrantDiffers.of(idempotencyKey ?? "")
  }
  const balanceAfter = stored.balance + credits
  const entry = { accountId, allowance: undefined, quotaCredits: 0, balanceCredits: credits, cause }
  store.entries.push({ ...entry, balanceAfter, reason })
  stored.balance = balanceAfter
  return balanceAfter
})

const adjust = Effect.fnUntraced(function* ({ ids, store }: Deps, adjustment: Adjustment) {
  const { accountId, credits, to } = adjustment
  const cause = `adjustment:${yield* ids.requestId}`
  const stored = store.accounts.get(accountId)
  if (stored === undefined) return yield* new NotFound({ message: `There is no account ${accountId}.` })
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
  if (to === "balance") stored.balance += credits
  else stored.allowance.used = used
  store.entries.push({
    accountId,
    allowance: to === "quota" ? stored.allowance : undefined,
    quotaCredits: to === "quota" ? -credits : 0,
    balanceCredits: to === "balance" ? credits : 0,
    cause
  })
  return current(store, stored, now)
})

const sweep = (store: Store, now: number): number => {
  const expired = [...store.holds.values()].filter((stored) => stored.expiresAt <= now)
  for (const { hold } of expired) end(store, hold.id, 0)
  return expired.length
}

/** Repairs what `discrepancies` finds. The memory store has no entries that two accounts share. */
const repair = Effect.fnUntraced(function* ({ ids, store }: Deps, it: Repair) {
  const stored = store.accounts.get(it.accountId)
  if (stored === undefined) return yield* new NotFound({ message: `There is no account ${it.accountId}.` })
  const found = discrepancies(store).filter(({ accountId }) => accountId === it.accountId)
  const { allowance } = stored
  for (const discrepancy of found) {
    const cause = `repair:${yield* ids.requestId}`
    const excess = discrepancy.found - discrepancy.expected
    const entry = { accountId: it.accountId, allowance: undefined, quotaCredits: 0, balanceCredits: 0, cause }
    if (discrepancy.what === "credits in the query log") {
      store.entries.push({ ...entry, quotaCredits: excess, corrects: true }, { ...entry, quotaCredits: -excess })
    } else if (it.keep === "figures") {
      const isBalance = discrepancy.what === "pack balance"
      store.entries.push(
        isBalance ? { ...entry, balanceCredits: excess } : { ...entry, allowance, quotaCredits: excess }
      )
    } else {
      const most =
        discrepancy.what === "pack balance" ? Number.POSITIVE_INFINITY : (allowance.quota ?? discrepancy.expected)
      if (discrepancy.expected < 0 || discrepancy.expected > most) {
        return yield* CorrectionImpossible.ofRepair(it, discrepancy)
      }
      if (discrepancy.what === "pack balance") stored.balance = discrepancy.expected
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
  for (const { account, allowance, balance } of store.accounts.values()) {
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
