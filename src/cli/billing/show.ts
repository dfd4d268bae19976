import { Effect } from "effect"
import { Command } from "effect/cli"
import type { SoldSubscription } from "../../domain/billing/Subscription.ts"
import { type BilledAccount, BillingBooks, type BookedOrder } from "../../services/billing/BillingBooks.ts"
import { accountId, limit } from "../flags.ts"
import { NotFound, print, section, table, time } from "../Output.ts"

const subscriptionJson = (it: SoldSubscription) => ({
  id: it.id,
  status: it.status,
  plan: it.plan,
  current_period_start: time(it.period.start),
  current_period_end: time(it.period.end),
  cancel_at_period_end: it.cancelAtPeriodEnd,
  pending_plan: it.pending?.plan ?? null,
  pending_at: time(it.pending?.at),
  past_due_since: time(it.pastDueAt)
})

const orderJson = (it: BookedOrder) => ({
  id: it.id,
  kind: it.kind,
  status: it.status,
  created_at: time(it.createdAt),
  net_cents: it.netCents,
  refunded_cents: it.refundedCents,
  granted: it.granted,
  taken_back: it.takenBack,
  dispute_lost: it.isDisputeLost
})

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
    account.subscriptions.map((it) => [
      it.id,
      it.status,
      it.plan,
      time(it.period.start) ?? "",
      time(it.period.end) ?? "",
      nextOf(it)
    ])
  ),
  ...section(
    ["ORDER", "KIND", "STATUS", "MADE", "NET", "REFUNDED", "GRANTED", "TAKEN BACK", ""],
    orders.map((it) => [
      it.id,
      it.kind,
      it.status,
      time(it.createdAt) ?? "",
      dollars(it.netCents),
      dollars(it.refundedCents),
      `${it.granted}`,
      `${it.takenBack}`,
      it.isDisputeLost ? "dispute lost" : ""
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
    yield* print(
      {
        account_id: input.account,
        customer_id: account.customerId ?? null,
        blocked_at: time(account.blockedAt),
        balance: account.balance,
        owed: account.owed,
        subscriptions: account.subscriptions.map(subscriptionJson),
        orders: orders.map(orderJson)
      },
      linesOf(input.account, account, orders)
    )
  })
).pipe(Command.withDescription("Show the recorded payments of an account, newest first"))
