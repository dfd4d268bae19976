import { Effect } from "effect"
import type { BillingBooks } from "../services/billing/BillingBooks.ts"
import { atNow, type Store } from "./MemoryStore.ts"

type Part = Partial<BillingBooks["Service"]>

const deliveries = ({ billing: { inbox } }: Store) =>
  ({
    store: (item) =>
      atNow((now) => {
        if (inbox.has(item.deliveryId)) return false
        inbox.set(item.deliveryId, { item: { ...item, attempts: 0 }, dueAt: now, doneAt: undefined, receivedAt: now })
        return true
      }),
    takeDeliveries: (limit, leaseMs) =>
      atNow((now) => {
        const due = inbox
          .values()
          .filter(({ doneAt, dueAt }) => doneAt === undefined && dueAt <= now)
          .toArray()
          .sort((a, b) => a.dueAt - b.dueAt)
          .slice(0, limit)
        return due.map((stored) => {
          const { item } = stored
          stored.item = { ...item, attempts: item.attempts + 1 }
          stored.dueAt = now + leaseMs
          return item
        })
      }),
    finishDeliveries: (ids) =>
      atNow((now) => {
        for (const id of ids) {
          const stored = inbox.get(id)
          if (stored !== undefined) stored.doneAt ??= now
        }
      }),
    postponeDeliveries: (ids, _reason, waitMs) =>
      atNow((now) => {
        for (const id of ids) {
          const stored = inbox.get(id)
          if (stored !== undefined) stored.dueAt = now + waitMs
        }
      }),
    pruneDeliveries: (ageMs) =>
      atNow((now) => {
        const old = [...inbox].filter(([, { doneAt }]) => doneAt !== undefined && doneAt < now - ageMs)
        for (const [id] of old) inbox.delete(id)
        return old.length
      })
  }) satisfies Part

const removals = ({ billing: { removals } }: Store) =>
  ({
    takeRemovals: (limit, leaseMs) =>
      atNow((now) => {
        const due = [...removals.values()].filter(({ dueAt }) => dueAt <= now).slice(0, limit)
        return due.map((stored) => {
          const { removal } = stored
          stored.removal = { ...removal, attempts: removal.attempts + 1 }
          stored.dueAt = now + leaseMs
          return removal
        })
      }),
    finishRemoval: (customerId) =>
      Effect.sync(() => {
        removals.delete(customerId)
      }),
    postponeRemoval: (customerId, waitMs) =>
      atNow((now) => {
        const stored = removals.get(customerId)
        if (stored !== undefined) stored.dueAt = now + waitMs
      }),
    queueRemoval: (customerId, accountId) =>
      atNow((now) => {
        if (removals.has(customerId)) return false
        removals.set(customerId, { removal: { customerId, accountId, attempts: 0 }, dueAt: now })
        return true
      })
  }) satisfies Part

const turns = ({ accounts, billing }: Store) =>
  ({
    takeTurn: (accountId, everyMs) =>
      atNow((now) => {
        if (!accounts.has(accountId)) return false
        const billed = billing.accounts.get(accountId)
        if (billed === undefined) {
          billing.accounts.set(accountId, { customerId: undefined, reading: 0, blockedAt: undefined, askedAt: now })
          return true
        }
        if (billed.askedAt !== undefined && billed.askedAt > now - everyMs) return false
        billed.askedAt = now
        return true
      }),
    takeSweep: (extent, everyMs, leaseMs) =>
      atNow((now) => {
        const known = billing.sweeps.get(extent)
        if (known !== undefined && (known.dueAt > now || known.leaseUntil > now)) return undefined
        billing.sweeps.set(extent, { begunAt: known?.begunAt, dueAt: now + everyMs, leaseUntil: now + leaseMs })
        return { since: known?.begunAt ?? 0, startedAt: now }
      }),
    finishSweep: (extent, startedAt, isDone) =>
      atNow((now) => {
        const known = billing.sweeps.get(extent)
        if (known === undefined) return
        known.leaseUntil = now
        if (isDone) known.begunAt = startedAt
        else known.dueAt = now
      }),
    figures: atNow((now) => {
      const waiting = [...billing.inbox.values().filter(({ doneAt }) => doneAt === undefined)]
      const oldest = Math.min(now, ...waiting.map(({ receivedAt }) => receivedAt))
      return {
        oldestDeliveryMs: now - oldest,
        owed: [...accounts.values()].reduce((sum, { owed }) => sum + owed, 0)
      }
    })
  }) satisfies Part

export const make = (store: Store) => ({
  ...deliveries(store),
  ...removals(store),
  ...turns(store)
})
