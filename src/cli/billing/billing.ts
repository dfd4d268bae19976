import { Effect } from "effect"
import { Command } from "effect/cli"
import type { SoldSubscription } from "../../domain/billing/Subscription.ts"
import { Accounts } from "../../services/accounts/Accounts.ts"
import { type BilledAccount, BillingBooks, type BookedOrder } from "../../services/billing/BillingBooks.ts"
import { PaymentProvider } from "../../services/billing/PaymentProvider.ts"
import { type Drift, Reconciler } from "../../services/billing/Reconciler.ts"
import { billedJson } from "../../services/operations/views/billedJson.ts"
import { writesMore, writesNothing } from "../effects.ts"
import { accountId, limit, optionalText, reason } from "../flags.ts"
import type { CommandLayers } from "../layers.ts"
import { CommandFailed, NotFound, print, section, table, time } from "../Output.ts"
import { audited, recordFirst } from "../operations/audited.ts"

const check = Command.make(
  "check",
  {},
  Effect.fn(function* () {
    const provider = yield* PaymentProvider
    const findings = yield* provider.check.pipe(
      Effect.mapError(({ reason }) => new CommandFailed({ message: `${reason}.` }))
    )
    const failed = findings.filter(({ ok }) => !ok).length
    yield* print(
      { ok: failed === 0, findings },
      table([
        ["SUBJECT", "RESULT", "FOUND"],
        ...findings.map(({ message, ok, subject }) => [subject, ok ? "ok" : "wrong", message])
      ])
    )
    if (failed > 0) return yield* new CommandFailed({ message: `${failed} of ${findings.length} checks failed.` })
  })
).pipe(Command.withDescription("Check the token, products, and webhook endpoint at the payment provider"))

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

const show = Command.make(
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

const driftJson = ({ accountId, kind, objectId }: Drift) => ({
  kind,
  account_id: accountId ?? null,
  object_id: objectId
})

const reconcile = Command.make(
  "reconcile",
  {
    account: optionalText("account", "Only this account: acc_… (default: everything at the provider)")
  },
  Effect.fn(function* ({ account }) {
    const reconciler = yield* Reconciler
    // Each object is updated in its own transaction, so a failure does not undo earlier updates.
    yield* recordFirst({ command: "billing reconcile", subject: account })
    const drifts = yield* (account === undefined ? reconciler.sweep("changed") : reconciler.bringAccount(account)).pipe(
      Effect.catchTag("ProviderUnavailable", ({ reason }) =>
        Effect.fail(
          new CommandFailed({
            message: `The payment provider did not answer: ${reason}. Nothing is lost. Run the command again later.`
          })
        )
      )
    )
    yield* print(
      { repaired: drifts.map(driftJson) },
      drifts.length === 0
        ? ["The books agree with the payment provider. Nothing was missed."]
        : table([
            ["MISSED", "ACCOUNT", "OBJECT"],
            ...drifts.map((drift) => [drift.kind, drift.accountId ?? "", drift.objectId])
          ])
    )
  })
).pipe(Command.withDescription("Update the books from the payment provider now"))

const unblock = Command.make(
  "unblock",
  { account: accountId("account"), reason: reason("audit log") },
  Effect.fn(function* (input) {
    const account = yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(input.account))
    const books = yield* BillingBooks
    const wasBlocked = yield* audited(books.unblock(account.id), () => ({
      command: "billing unblock",
      subject: account.id,
      arguments: { reason: input.reason }
    }))
    yield* print({ account_id: account.id, unblocked: wasBlocked }, [
      wasBlocked ? `${account.id} can buy again.` : `${account.id} was not blocked.`
    ])
  })
).pipe(Command.withDescription("Allow purchases again after a lost dispute"))

export const billing = <E, R>({ paymentProvider, reading, reconciler, storage }: CommandLayers<E, R>) =>
  Command.make("billing").pipe(
    Command.withDescription("Check and reconcile payments"),
    Command.withSubcommands([
      check.pipe(writesNothing, Command.provide(paymentProvider)),
      show.pipe(writesNothing, Command.provide(reading)),
      reconcile.pipe(writesMore, Command.provide(reconciler)),
      unblock.pipe(writesMore, Command.provide(storage))
    ])
  )
