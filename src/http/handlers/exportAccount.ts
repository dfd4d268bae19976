import { Effect, Option, Schema, Stream } from "effect"
import type { Account } from "../../domain/accounts/Account.ts"
import type { ActivityQuery } from "../../domain/accounts/ActivityQuery.ts"
import type { SoldSubscription } from "../../domain/billing/Subscription.ts"
import { everything, type Position } from "../../domain/log/QueryHistory.ts"
import { Activity } from "../../services/accounts/Activity.ts"
import { Members } from "../../services/accounts/Members.ts"
import { BillingBooks, type BookedOrder } from "../../services/billing/BillingBooks.ts"
import { QueryLog } from "../../services/charging/QueryLog.ts"
import { Ledger } from "../../services/credits/Ledger.ts"
import { KeyStore } from "../../services/keys/KeyStore.ts"
import { EventBooks } from "../../services/webhooks/EventBooks.ts"
import { AccountEvent, AccountExport } from "../groups/AccountGroup.ts"
import { LoggedQuery } from "../groups/UsageGroup.ts"
import { SendsServerTiming } from "../responses/serverTiming.ts"
import { toKey } from "./keys.ts"
import { toMember } from "./members.ts"
import { toLoggedQuery } from "./usage.ts"
import { toSettings, toWebhook } from "./webhooks.ts"

const { events: _, queries: __, ...head } = AccountExport.fields

const encodeHead = Schema.encodeSync(Schema.fromJsonString(Schema.Struct(head)))
const encodeQuery = Schema.encodeSync(Schema.fromJsonString(LoggedQuery))
const encodeEvent = Schema.encodeSync(Schema.fromJsonString(AccountEvent))

/** Entries per read. The export can be as long as the log and is never in memory as a whole. */
const pageEntries = 1_000

/** One order a day for 27 years. */
const maxOrders = 10_000

const toSubscription = (subscription: SoldSubscription) => ({
  id: subscription.id,
  plan: subscription.plan,
  status: subscription.status,
  started_at: subscription.startedAt,
  current_period_start: subscription.period.start,
  current_period_end: subscription.period.end,
  cancel_at_period_end: subscription.cancelAtPeriodEnd
})

const toOrder = (order: BookedOrder) => ({
  id: order.id,
  kind: order.kind,
  status: order.status,
  created_at: order.createdAt,
  net: order.netCents,
  refunded: order.refundedCents,
  credits_granted: order.granted,
  credits_taken_back: order.takenBack,
  dispute_lost: order.isDisputeLost
})

/** All entries of a log from a position on, newest first, as pieces of JSON text. */
const allPages = <A>(
  from: Position | undefined,
  read: (after: Position | undefined) => Effect.Effect<{
    readonly entries: ReadonlyArray<A>
    readonly next: Position | undefined
  }>,
  write: (entries: ReadonlyArray<A>) => string
) =>
  Stream.paginate(from, (after: Position | undefined) =>
    Effect.map(read(after), ({ entries, next }) => [[write(entries)], Option.fromUndefinedOr(next)] as const)
  )

/** One event in each line. */
export const eventLines = (activity: Activity["Service"], accountId: string, query: ActivityQuery) =>
  allPages(
    query.cursor,
    (cursor) => activity.page(accountId, { ...query, cursor, limit: pageEntries }),
    (entries) => entries.map((entry) => `${encodeEvent(entry)}\n`).join("")
  )

/** Returns pieces of JSON. Fails before the first piece if the account cannot be read. */
export const exportAccount = Effect.fnUntraced(function* (account: Account) {
  const ledger = yield* Ledger
  const members = yield* Members
  const store = yield* KeyStore
  const queryLog = yield* QueryLog
  const books = yield* BillingBooks
  const events = yield* EventBooks
  const activity = yield* Activity
  const namesProviders = yield* SendsServerTiming
  const { balance, plan, quota, used } = yield* ledger.peek(account)
  const { createdAt, email, id } = account
  // Undefined if the account was deleted in the meantime; the rest of the document is then empty too.
  const billed = yield* books.account(id)
  const start = encodeHead({
    account: {
      id,
      email,
      plan,
      quota: quota ?? null,
      used,
      balance,
      owed: billed?.owed ?? 0,
      customer_id: billed?.customerId ?? null,
      created_at: createdAt
    },
    subscriptions: (billed?.subscriptions ?? []).map(toSubscription),
    orders: (yield* books.orders(id, maxOrders)).map(toOrder),
    members: (yield* members.list(id)).map(toMember),
    api_keys: (yield* store.list(id)).map(toKey),
    webhooks: (yield* events.endpoints(id)).map(toWebhook),
    webhook_settings: toSettings(yield* events.settings(id))
  })
  const acts = allPages(
    undefined,
    (cursor) => activity.page(id, { cursor, limit: pageEntries }),
    (entries) => entries.map((entry) => encodeEvent(entry)).join(",")
  )
  const queries = allPages(
    undefined,
    (after) => queryLog.history(id, { filter: everything, after, limit: pageEntries }),
    (entries) => entries.map((entry) => encodeQuery(toLoggedQuery(entry, namesProviders))).join(",")
  )
  return Stream.make(`${start.slice(0, -1)},"events":[`).pipe(
    Stream.concat(Stream.intersperse(acts, ",")),
    Stream.concat(Stream.make(`],"queries":[`)),
    Stream.concat(Stream.intersperse(queries, ",")),
    Stream.concat(Stream.make("]}"))
  )
})
