import type { Account } from "../../domain/accounts/Account.ts"
import type { Allowance } from "../../domain/credits/Allowance.ts"
import { remaining } from "../../domain/credits/Allowance.ts"
import { print, table, time } from "../Output.ts"

export const accountJson = (account: Account) => ({
  account_id: account.id,
  email: account.email,
  plan: account.plan,
  quota: account.quota ?? null,
  quota_agreed: account.agreedQuota ?? false,
  concurrency: account.concurrency,
  concurrency_agreed: account.agreedConcurrency ?? false,
  cycle_start: time(account.cycleStart),
  created_at: time(account.createdAt),
  suspended_at: time(account.suspendedAt)
})

const agreedNote = (isAgreed: boolean | undefined): string => (isAgreed === true ? " (agreed)" : "")

export const accountLines = (account: Account): ReadonlyArray<ReadonlyArray<string>> => [
  ["Account", account.id],
  ["Email", account.email],
  ["Plan", account.plan],
  ["Quota", `${account.quota ?? "counted, never refused"}${agreedNote(account.agreedQuota)}`],
  ["Concurrency", `${account.concurrency}${agreedNote(account.agreedConcurrency)}`],
  ["Cycle start", time(account.cycleStart) ?? "calendar months"],
  ["Created", time(account.createdAt) ?? ""],
  ...(account.suspendedAt === undefined ? [] : [["Suspended", time(account.suspendedAt) ?? ""]])
]

export const printAccount = (account: Account, ...more: ReadonlyArray<string>) =>
  print(accountJson(account), [...table(accountLines(account)), ...more])

export const allowanceJson = (allowance: Allowance) => ({
  quota: allowance.quota ?? null,
  used: allowance.used,
  remaining: allowance.quota === undefined ? null : remaining(allowance),
  period_start: time(allowance.periodStart),
  resets_at: time(allowance.resetsAt)
})
