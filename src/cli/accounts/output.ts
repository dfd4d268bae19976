import type { Account } from "../../domain/accounts/Account.ts"
import { accountJson } from "../../services/operations/views/accountJson.ts"
import { print, table, time } from "../Output.ts"

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
