import { Effect } from "effect"
import type { Account } from "../../../src/domain/accounts/Account.ts"
import { BillingBooks } from "../../../src/services/billing/BillingBooks.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"

const start = Date.UTC(2026, 2, 1)
const end = Date.UTC(2026, 3, 1)

/**
 * Books a growth subscription that ends with its period, and a pack that was fully spent before half of its price was
 * refunded, so 5,000 credits are owed.
 */
export const aSubscriber = Effect.fnUntraced(function* (account: Account) {
  const books = yield* BillingBooks
  const customerId = `customer-of-${account.id}`
  yield* books.keepCustomer(account.id, customerId)
  const orders = [{ plan: "growth", reason: "create", status: "paid", createdAt: start } as const]
  const subscription = {
    id: "sub-1",
    plan: "growth",
    status: "active",
    period: { start, end },
    startedAt: start,
    cancelAtPeriodEnd: true,
    pending: undefined,
    pastDueAt: undefined,
    modifiedAt: start
  } as const
  const reading = yield* books.nextReading
  const subscriptions = [{ ...subscription, orders }]
  yield* books.bookSubscriptions({ accountId: account.id, customerId, reading, subscriptions, graceMs: 0 })
  const order = {
    id: "order-1",
    accountId: account.id,
    customerId,
    purchase: { kind: "pack", credits: 10_000, quotedCents: 800 },
    status: "paid",
    netCents: 800,
    refundedCents: 0,
    createdAt: start,
    modifiedAt: start
  } as const
  yield* books.bookOrder(order, yield* books.nextReading)
  const spent = { accountId: account.id, credits: -10_000, to: "balance", reason: "spent", by: "a test" } as const
  yield* Effect.flatMap(Ledger, (ledger) => ledger.adjust(spent))
  yield* books.bookOrder({ ...order, refundedCents: 400 }, yield* books.nextReading)
})
