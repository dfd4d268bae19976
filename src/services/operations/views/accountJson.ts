import type { Account } from "../../../domain/accounts/Account.ts"
import { type Allowance, remaining } from "../../../domain/credits/Allowance.ts"
import { toMoment, toMomentOrNull } from "../../../domain/requests/fields.ts"

export const accountJson = (account: Account) => ({
  account_id: account.id,
  email: account.email,
  plan: account.plan,
  quota: account.quota ?? null,
  quota_agreed: account.agreedQuota ?? false,
  concurrency: account.concurrency,
  concurrency_agreed: account.agreedConcurrency ?? false,
  cycle_start: toMomentOrNull(account.cycleStart),
  created_at: toMoment(account.createdAt),
  suspended_at: toMomentOrNull(account.suspendedAt)
})

export const allowanceJson = (allowance: Allowance) => ({
  quota: allowance.quota ?? null,
  used: allowance.used,
  remaining: allowance.quota === undefined ? null : remaining(allowance),
  period_start: toMomentOrNull(allowance.periodStart),
  resets_at: toMomentOrNull(allowance.resetsAt)
})
