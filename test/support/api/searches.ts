import { Effect } from "effect"
import type { Account } from "../../../src/domain/accounts/Account.ts"
import { Accounts, type PlanChoice } from "../../../src/services/accounts/Accounts.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { Ids } from "../../../src/services/Ids.ts"
import { logEntry } from "./requests.ts"

export const makeEmail = Effect.gen(function* () {
  const { requestId } = yield* Ids
  return `${yield* requestId}@example.com`
})

/** Creates an account, optionally with pack credits. */
export const makeAccount = Effect.fnUntraced(function* (choice: PlanChoice, balance = 0) {
  const accounts = yield* Accounts
  const account = yield* accounts.create({ ...choice, email: yield* makeEmail })
  if (balance > 0) yield* (yield* Ledger).grant(account.id, balance, "for a test")
  return account
})

/** The log entry of a search that cost one credit, or was free if there is no account. */
export const makeRecord = Effect.fnUntraced(function* (account: Account | undefined, query = "quarry") {
  const { make } = yield* Ids
  const credits = account === undefined ? 0 : 1
  return logEntry({ id: yield* make("qry_"), accountId: account?.id, credits }, query)
})

export const makeRecords = (account: Account, count: number) =>
  Effect.all(Array.from({ length: count }, () => makeRecord(account)))

/** Discrepancies in an account's books. */
export const discrepanciesOf = ({ id }: Account) =>
  Effect.flatMap(Ledger, (ledger) =>
    Effect.map(ledger.verify, (all) => all.filter(({ accountId }) => accountId === id))
  )
