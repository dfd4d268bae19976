import { Effect } from "effect"
import { Command } from "effect/cli"
import type { SoldSubscription } from "../../domain/billing/Subscription.ts"
import { type BilledAccount, BillingBooks, type BookedOrder } from "../../services/billing/BillingBooks.ts"
import { billedJson } from "../../services/operations/views/billedJson.ts"
import { accountId, limit } from "../flags.ts"
import { NotFound, print, section, table, time } from "../Output.ts"

const dollars = (cents: number): string => `$${(cents / 100).toFixed(2)}`

const nextOf = ({ cancelAtPeriodEnd, pending, period }: SoldSubscription): string => {
  if (cancelAtPeriodEnd) return `ends ${time(period.end)}`
  return pending === undefined ? "" : `${pending.plan} from ${time(pending.at)}`
}

const linesOf = (id: string, account: BilledAccount, orders: ReadonlyArray<BookedOrder>): ReadonlyArray<string> => [
  ...table([
    ["Account", id],
    ["Customer", account.customerId ?? "none (no purchases)"],
    ["Pack credits", `${account.balance}`],
    ["Owed credits", `${account.owed}`],
    ...(account.blockedAt === undefined ? [] : [["Purchases blocked", time(account.blockedAt) ?? ""]])
  ]),
  ...section(
    ["SUBSCRIPTION", "STATUS", "PLAN", "PERIOD", "", "NEXT"],
    account.subscriptions.map((subscription) => [
      subscription.id,
      subscription.status,
      subscription.plan,
      time(subscription.period.start) ?? "",
      time(subscription.period.end) ?? "",
      nextOf(subscription)
    ])
  ),
  ...section(
    ["ORDER", "KIND", "STATUS", "MADE", "NET", "REFUNDED", "GRANTED", "TAKEN BACK", ""],
    orders.map((order) => [
      order.id,
      order.kind,
      order.status,
      time(order.createdAt) ?? "",
      dollars(order.netCents),
      dollars(order.refundedCents),
      `${order.granted}`,
      `${order.takenBack}`,
      order.isDisputeLost ? "dispute lost" : ""
    ])
  )
]

export const show = Command.make(
  "show",
  { account: accountId("account"), limit: limit(20) },
  Effect.fn(function* (input) {
    const books = yield* BillingBooks
    const account = yield* books.account(input.account)
    if (account === undefined) return yield* new NotFound({ message: `There is no account ${input.account}.` })
    const orders = yield* books.orders(input.account, input.limit)
    yield* print(billedJson(input.account, account, orders), linesOf(input.account, account, orders))
  })
).pipe(Command.withDescription("Show the recorded payments of an account, newest first"))
