import { Clock, Duration, Effect, Layer } from "effect"
import { type Allowance, giveBack, split } from "../../domain/Account.ts"
import { NotFound, QuotaExceeded } from "../../domain/errors.ts"
import { Ids } from "../../services/Ids.ts"
import { type Discrepancy, type Hold, HoldExpired, Ledger } from "../../services/Ledger.ts"
import { enterPeriod, MemoryStore, type StoredAccount } from "./MemoryStore.ts"

export interface LedgerOptions {
  /** How long a hold lives when nobody ends it. */
  readonly lease?: Duration.Duration | undefined
}

const defaultLease = Duration.seconds(105)

/** The ledger's rules without a database. Each operation is one synchronous step. */
export const layer = (options: LedgerOptions = {}): Layer.Layer<Ledger, never, MemoryStore | Ids> =>
  Layer.effect(
    Ledger,
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const ids = yield* Ids
      const leaseMs = Duration.toMillis(options.lease ?? defaultLease)

      const find = (accountId: string): Effect.Effect<StoredAccount> => {
        const stored = store.accounts.get(accountId)
        return stored === undefined
          ? Effect.die(new Error(`account ${accountId} does not exist`))
          : Effect.succeed(stored)
      }

      const current = (stored: StoredAccount, now: number): Allowance => {
        const { period } = stored.allowance
        if (period !== undefined && period.end <= now) {
          stored.allowance = enterPeriod(store, stored.account, now).allowance
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

      const allowance = Effect.fnUntraced(function* (accountId: string) {
        const stored = yield* find(accountId)
        return current(stored, yield* Clock.currentTimeMillis)
      })

      const reserve = Effect.fnUntraced(function* (accountId: string, credits: number) {
        const stored = yield* find(accountId)
        const id = yield* ids.make("hld_")
        const now = yield* Clock.currentTimeMillis
        const before = current(stored, now)
        const taken = split(before, credits)
        if (taken === undefined) return yield* QuotaExceeded.of(before, credits)
        stored.allowance.used += taken.fromQuota
        stored.balance -= taken.fromBalance
        const hold: Hold = { id, accountId, ...taken, before }
        store.holds.set(id, { hold, allowance: stored.allowance, expiresAt: now + leaseMs })
        return hold
      })

      /** Ends a hold: what was not charged goes back to where it came from. */
      const end = (id: string, charge: number) => {
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

      return Ledger.of({
        reserve: (account, credits) => reserve(account.id, credits),
        allowance: (account) => allowance(account.id),
        settle: Effect.fnUntraced(function* (hold, records) {
          const charge = records.reduce((sum, record) => sum + record.credits, 0)
          if (charge > hold.fromQuota + hold.fromBalance) {
            return yield* Effect.die(new RangeError(`hold ${hold.id}: more charged than held`))
          }
          const stored = yield* find(hold.accountId)
          const settled = store.entries.find((entry) => entry.cause === hold.id)
          if (settled !== undefined) {
            return { charged: settled.quotaCredits - settled.balanceCredits, balance: stored.balance }
          }
          const at = yield* Clock.currentTimeMillis
          const entry = end(hold.id, charge)
          if (entry === undefined) return yield* new HoldExpired({ holdId: hold.id })
          if (charge > 0) store.entries.push(entry)
          store.queries.push(...records.map((record) => ({ ...record, holdId: hold.id, at })))
          return { charged: charge, balance: stored.balance }
        }),
        grant: Effect.fnUntraced(function* (accountId, credits) {
          const cause = yield* ids.requestId
          const stored = store.accounts.get(accountId)
          if (stored === undefined) return yield* new NotFound({ message: `There is no account ${accountId}.` })
          store.entries.push({ accountId, allowance: undefined, quotaCredits: 0, balanceCredits: credits, cause })
          stored.balance += credits
          return stored.balance
        }),
        sweep: Effect.map(Clock.currentTimeMillis, (now) => {
          const expired = [...store.holds.values()].filter((stored) => stored.expiresAt <= now)
          for (const { hold } of expired) end(hold.id, 0)
          return expired.length
        }),
        verify: Effect.sync(() => discrepancies(store))
      })
    })
  )

const sum = <A>(items: Iterable<A>, credits: (item: A) => number): number => {
  let total = 0
  for (const item of items) total += credits(item)
  return total
}

const discrepancies = (store: MemoryStore["Service"]): ReadonlyArray<Discrepancy> => {
  const found: Array<Discrepancy> = []
  const compare = (accountId: string, what: string, expected: number, is: number) => {
    if (expected !== is) found.push({ accountId, what, expected, found: is })
  }
  for (const { account, allowance, balance } of store.accounts.values()) {
    const entries = store.entries.filter((entry) => entry.accountId === account.id)
    const holds = [...store.holds.values()].filter(({ hold }) => hold.accountId === account.id)
    const counted = store.entries.filter((entry) => entry.allowance === allowance)
    const held = [...store.holds.values()].filter((stored) => stored.allowance === allowance)
    compare(
      account.id,
      "credits used of the quota",
      sum(counted, (entry) => entry.quotaCredits) + sum(held, ({ hold }) => hold.fromQuota),
      allowance.used
    )
    compare(
      account.id,
      "pack balance",
      sum(entries, (entry) => entry.balanceCredits) - sum(holds, ({ hold }) => hold.fromBalance),
      balance
    )
    const charges = entries.filter((entry) => entry.allowance !== undefined)
    const queries = store.queries.filter((query) => query.accountId === account.id && query.holdId !== undefined)
    compare(
      account.id,
      "credits in the query log",
      sum(charges, (entry) => entry.quotaCredits - entry.balanceCredits),
      sum(queries, (query) => query.credits)
    )
  }
  return found
}
