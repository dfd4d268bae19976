import { addEvent, noticeUse } from "./events.ts"
import type { LedgerEntry, Store, StoredAccount } from "./MemoryStore.ts"

interface Credit {
  readonly credits: number
  readonly cause: string
  readonly reason: string
  readonly grantedAt: number | undefined
}

export const addCredits = (
  store: Store,
  stored: StoredAccount,
  { cause, credits, grantedAt, reason }: Credit
): number => {
  const settled = Math.min(stored.owed, credits)
  const accountId = stored.account.id
  const entry: LedgerEntry = {
    accountId,
    allowance: undefined,
    quotaCredits: 0,
    balanceCredits: credits,
    cause,
    reason
  }
  stored.balance += credits - settled
  stored.owed -= settled
  stored.grantCount += 1
  store.entries.push({ ...entry, balanceAfter: stored.balance })
  if (settled > 0) {
    store.entries.push({ ...entry, balanceCredits: -settled, owedCredits: -settled, cause: `owed:${cause}` })
  }
  if (grantedAt !== undefined) {
    addEvent(store, accountId, "pack.granted", `pack.granted:${cause}`, { credits, balance: stored.balance }, grantedAt)
  }
  return stored.balance
}

/** Records as owed what the balance does not cover (R40). */
export const takeBack = (store: Store, stored: StoredAccount, credits: number, cause: string, now: number): void => {
  const before = { used: stored.allowance.used, balance: stored.balance }
  const taken = Math.min(stored.balance, credits)
  stored.balance -= taken
  stored.owed += credits - taken
  store.entries.push({
    accountId: stored.account.id,
    allowance: undefined,
    quotaCredits: 0,
    balanceCredits: -taken,
    owedCredits: credits - taken,
    cause
  })
  noticeUse(store, stored, before, now)
}
