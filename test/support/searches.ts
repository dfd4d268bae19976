import { Effect } from "effect"
import type { Account } from "../../src/domain/Account.ts"
import type { QueryRecord } from "../../src/domain/QueryRecord.ts"
import { Accounts, type PlanChoice } from "../../src/services/Accounts.ts"
import { Ids } from "../../src/services/Ids.ts"
import { Ledger } from "../../src/services/Ledger.ts"

export const makeEmail = Effect.gen(function* () {
  const { requestId } = yield* Ids
  return `${yield* requestId}@example.com`
})

/** A new account, with pack credits when asked for. */
export const makeAccount = Effect.fnUntraced(function* (choice: PlanChoice, balance = 0) {
  const accounts = yield* Accounts
  const account = yield* accounts.create({ ...choice, email: yield* makeEmail })
  if (balance > 0) yield* (yield* Ledger).grant(account.id, balance, "for a test")
  return account
})

/** The log entry of a search that cost one credit. */
export const makeRecord = Effect.fnUntraced(function* (account: Account | undefined, query = "quarry") {
  const { make } = yield* Ids
  const record: QueryRecord = {
    id: yield* make("qry_"),
    accountId: account?.id,
    keyId: undefined,
    batchId: undefined,
    request: {
      target: "alpha_search",
      query,
      geo: "us",
      locale: "en-us",
      page: 1,
      num: 10,
      safe: "off",
      source: "api"
    },
    outcome: "ok",
    credits: account === undefined ? 0 : 1,
    cached: false,
    provider: "meta/google",
    resultCount: 7,
    durationMs: 321
  }
  return record
})

export const makeRecords = (account: Account, count: number) =>
  Effect.all(Array.from({ length: count }, () => makeRecord(account)))

/** What does not add up in an account's books. */
export const discrepanciesOf = ({ id }: Account) =>
  Effect.flatMap(Ledger, (ledger) =>
    Effect.map(ledger.verify, (all) => all.filter(({ accountId }) => accountId === id))
  )
