import { Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { creditsGranted, creditsTakenBack } from "../../../domain/billing/Purchase.ts"
import { readingOf } from "../../../domain/billing/Subscription.ts"
import { Plan, type PlanTable } from "../../../domain/credits/Plan.ts"
import { BillingBooks, type Booking, type SubscriptionReading } from "../../../services/billing/BillingBooks.ts"
import type { Order } from "../../../services/billing/PaymentProvider.ts"
import { Plans } from "../../../services/credits/Plans.ts"
import { StoreClock, storeTime } from "../../../services/StoreClock.ts"
import * as PlanVersions from "../credits/PlanVersions.ts"
import { columnsOf, idRows, rowOf, rowsOf } from "../Rows.ts"
import { read } from "../Transaction.ts"
import { retryTransient } from "../Transient.ts"
import * as BillingInbox from "./BillingInbox.ts"
import { OrderRow, SubscriptionRow, subscriptionColumns, toBookedOrder, toBookedSubscription } from "./BillingRows.ts"
import { enterTerms, writeSubscription } from "./BillingTerms.ts"

interface Deps {
  readonly sql: SqlClient.SqlClient
  readonly clock: StoreClock["Service"]
  readonly plans: PlanTable
}

const subscriptionRows = rowsOf(SubscriptionRow)
const orderRow = rowOf(OrderRow)
const orderRows = rowsOf(OrderRow)
const orderColumns = columnsOf(OrderRow)

const lockedRow = rowOf(Schema.Struct({ plan: Plan, reading: Schema.BigInt }))
const accountRow = rowOf(
  Schema.Struct({
    customer_id: Schema.NullOr(Schema.String),
    blocked_at: Schema.NullOr(Schema.Date),
    balance: Schema.BigInt,
    owed: Schema.BigInt
  })
)
const customerRow = rowOf(Schema.Struct({ customer_id: Schema.NullOr(Schema.String) }))
const ownerRow = rowOf(Schema.Struct({ account_id: Schema.String }))
const readingRow = rowOf(Schema.Struct({ reading: Schema.BigInt }))
const lostRow = rowOf(Schema.Struct({ is_dispute_lost: Schema.Boolean }))

/** Takes the wallet's lock first, like every ledger function. Must be idempotent, because it is retried. */
const behindWallet = <A>(
  { sql }: Deps,
  accountId: string,
  book: Effect.Effect<A, SqlError.SqlError>
): Effect.Effect<A, SqlError.SqlError> =>
  retryTransient(
    sql.withTransaction(Effect.andThen(sql`select from wallets where account_id = ${accountId} for update`, book))
  )

/** Reads the account's plan and its last reading. Undefined for a deleted or unknown account. */
const openAccount = Effect.fnUntraced(function* ({ sql }: Deps, accountId: string) {
  yield* sql`
    insert into billing_accounts (account_id)
    select id from accounts where id = ${accountId} and deleted_at is null on conflict do nothing`
  return yield* lockedRow(sql`
    select a.plan, b.reading from accounts a join billing_accounts b on b.account_id = a.id
    where a.id = ${accountId} and a.deleted_at is null for update of b`)
})

const bookSubscriptions = (deps: Deps) => {
  const { clock, plans, sql } = deps
  const book = Effect.fnUntraced(function* (
    reading: SubscriptionReading
  ): Effect.fn.Return<Booking, SqlError.SqlError> {
    const account = yield* openAccount(deps, reading.accountId)
    if (account === undefined) return "unknown"
    if (account.reading >= BigInt(reading.reading)) return "outdated"
    const before = yield* subscriptionRows(sql`
      select ${sql.literal(subscriptionColumns)} from billing_subscriptions where account_id = ${reading.accountId}`)
    const now = yield* storeTime(clock)
    const history = yield* PlanVersions.read(sql, plans)
    const { graceMs } = reading
    const found = readingOf(before.map(toBookedSubscription), reading.subscriptions, { graceMs, history, now })
    for (const subscription of found.after) yield* writeSubscription(sql, reading.accountId, subscription)
    yield* sql`
      update billing_accounts set reading = ${reading.reading}::bigint where account_id = ${reading.accountId}`
    // The operator sets custom plans. A subscription does not change them.
    if (found.terms === undefined || account.plan === "custom") return found.isChanged ? "changed" : "unchanged"
    yield* enterTerms(sql, reading.accountId, found.terms)
    return found.isChanged || found.terms.plan !== account.plan ? "changed" : "unchanged"
  })
  return Effect.fn("BillingBooks.bookSubscriptions")((reading: SubscriptionReading) =>
    Effect.orDie(behindWallet(deps, reading.accountId, book(reading)))
  )
}

/** Takes back the refunded credits of an order, or returns credits that were taken back in excess (R40). */
const settleOrder = Effect.fnUntraced(function* ({ sql }: Deps, row: OrderRow) {
  const order = toBookedOrder(row)
  const due = creditsTakenBack(order)
  const difference = due - order.takenBack
  if (difference === 0) return false
  const cause = `pack-refund:${row.id}:${row.changes + 1}`
  yield* difference > 0
    ? sql`select ledger_take_back(${row.account_id}, ${difference}::bigint, ${row.id}, ${cause})`
    : sql`select ledger_credit(${row.account_id}, ${-difference}::bigint, 'refund', ${row.id}, ${cause})`
  yield* sql`
    update billing_orders set taken_back = ${due}::bigint, changes = changes + 1 where id = ${row.id}`
  return true
})

const readOrder = ({ sql }: Pick<Deps, "sql">, orderId: string) =>
  orderRow(sql`select ${sql.literal(orderColumns)} from billing_orders where id = ${orderId}`)

const writeOrder = ({ sql }: Deps, order: Order, accountId: string, reading: number, granted: number) => sql`
  insert into billing_orders as o (
    id, account_id, kind, status, net_cents, refunded_cents, granted, reading, created_at
  ) values (
    ${order.id}, ${accountId}, ${order.purchase.kind}, ${order.status}, ${order.netCents}::bigint,
    ${order.refundedCents}::bigint, ${granted}::bigint, ${reading}::bigint, ${new Date(order.createdAt)}
  )
  on conflict (id) do update set status = excluded.status, net_cents = excluded.net_cents,
    refunded_cents = excluded.refunded_cents, granted = excluded.granted, reading = excluded.reading`

const bookOrder = (deps: Deps) => {
  const { sql } = deps
  const book = Effect.fnUntraced(function* (
    order: Order,
    accountId: string,
    reading: number
  ): Effect.fn.Return<Booking, SqlError.SqlError> {
    if ((yield* openAccount(deps, accountId)) === undefined) return "unknown"
    const before = yield* readOrder(deps, order.id)
    // An order stays with its first account, so that its credits are not granted to a second one.
    if (before !== undefined && before.account_id !== accountId) return "unknown"
    if (before !== undefined && before.reading >= BigInt(reading)) return "outdated"
    const granted = creditsGranted(Number(before?.granted ?? 0n), order)
    yield* writeOrder(deps, order, accountId, reading, granted)
    if (granted > 0 && (before?.granted ?? 0n) === 0n) {
      yield* sql`select ledger_credit(${accountId}, ${granted}::bigint, 'pack', ${order.id}, ${`pack:${order.id}`})`
    }
    const after = yield* readOrder(deps, order.id)
    if (after !== undefined) yield* settleOrder(deps, after)
    const isSame =
      before !== undefined &&
      before.status === order.status &&
      Number(before.refunded_cents) === order.refundedCents &&
      Number(before.net_cents) === order.netCents
    return isSame ? "unchanged" : "changed"
  })
  return Effect.fn("BillingBooks.bookOrder")((order: Order, reading: number) =>
    order.accountId === undefined || order.purchase.kind === "other"
      ? Effect.succeed<Booking>("unknown")
      : Effect.orDie(behindWallet(deps, order.accountId, book(order, order.accountId, reading)))
  )
}

const bookDispute = (deps: Deps) => {
  const { clock, sql } = deps
  const book = Effect.fnUntraced(function* (
    orderId: string,
    accountId: string,
    isLost: boolean
  ): Effect.fn.Return<Booking, SqlError.SqlError> {
    const now = new Date(yield* storeTime(clock))
    if ((yield* openAccount(deps, accountId)) === undefined) return "unknown"
    const changed = yield* lostRow(sql`
      update billing_orders set is_dispute_lost = ${isLost}::boolean
      where id = ${orderId} and is_dispute_lost <> ${isLost}::boolean returning is_dispute_lost`)
    if (changed === undefined) return "unchanged"
    if (isLost) {
      yield* sql`
        update billing_accounts set blocked_at = coalesce(blocked_at, ${now}) where account_id = ${accountId}`
    }
    const row = yield* readOrder(deps, orderId)
    if (row !== undefined) yield* settleOrder(deps, row)
    return "changed"
  })
  return Effect.fn("BillingBooks.bookDispute")(function* (orderId: string, isLost: boolean) {
    const row = yield* retryTransient(readOrder(deps, orderId))
    if (row === undefined) return "unknown"
    return yield* behindWallet(deps, row.account_id, book(orderId, row.account_id, isLost))
  }, Effect.orDie)
}

const account = ({ sql }: Deps) =>
  Effect.fn("BillingBooks.account")(function* (accountId: string) {
    const row = yield* retryTransient(
      accountRow(sql`
        select b.customer_id, b.blocked_at, w.balance, w.owed
        from accounts a join wallets w on w.account_id = a.id left join billing_accounts b on b.account_id = a.id
        where a.id = ${accountId} and a.deleted_at is null`)
    )
    if (row === undefined) return undefined
    const subscriptions = yield* retryTransient(
      subscriptionRows(sql`
        select ${sql.literal(subscriptionColumns)} from billing_subscriptions where account_id = ${accountId}
        order by started_at desc, id`)
    )
    return {
      customerId: row.customer_id ?? undefined,
      blockedAt: row.blocked_at?.getTime(),
      subscriptions: subscriptions.map((row) => toBookedSubscription(row).subscription),
      balance: Number(row.balance),
      owed: Number(row.owed)
    }
  }, Effect.orDie)

const keepCustomer = (deps: Deps) => {
  const { sql } = deps
  const keep = Effect.fnUntraced(function* (accountId: string, customerId: string) {
    if ((yield* openAccount(deps, accountId)) === undefined) return "unknown" as const
    const owner = yield* ownerRow(sql`select account_id from billing_accounts where customer_id = ${customerId}`)
    if (owner !== undefined && owner.account_id !== accountId) return "taken" as const
    // Checked after the owner: deleting an account queues its customer before clearing the customer id.
    const [leaving] = yield* sql`select from billing_removals where customer_id = ${customerId}`
    if (leaving !== undefined) return "leaving" as const
    const row = yield* customerRow(sql`
      update billing_accounts set customer_id = coalesce(customer_id, ${customerId}) where account_id = ${accountId}
      returning customer_id`)
    return { customerId: row?.customer_id ?? customerId }
  })
  return Effect.fn("BillingBooks.keepCustomer")((accountId: string, customerId: string) =>
    behindWallet(deps, accountId, keep(accountId, customerId)).pipe(
      Effect.catchReason("SqlError", "UniqueViolation", () => Effect.succeed("taken" as const)),
      Effect.orDie
    )
  )
}

const reads = ({ sql }: Deps) => ({
  accountOf: (customerId: string) =>
    read(
      ownerRow(sql`select account_id from billing_accounts where customer_id = ${customerId}`),
      (row) => row?.account_id
    ),
  nextReading: read(readingRow(sql`select nextval('billing_readings') as reading`), (row) => Number(row?.reading ?? 0)),
  order: (orderId: string) =>
    read(readOrder({ sql }, orderId), (row) => (row === undefined ? undefined : toBookedOrder(row))),
  orders: (accountId: string, limit: number) =>
    read(
      orderRows(sql`
        select ${sql.literal(orderColumns)} from billing_orders where account_id = ${accountId}
        order by created_at desc, id limit ${limit}`),
      (rows) => rows.map(toBookedOrder)
    ),
  openSubscriptions: read(
    subscriptionRows(sql`
      select ${sql.literal(subscriptionColumns)} from billing_subscriptions
      where status <> 'ended' and account_id in (select id from accounts where deleted_at is null)`),
    (rows) => rows.map((row) => ({ ...toBookedSubscription(row).subscription, accountId: row.account_id }))
  ),
  pendingOrders: read(idRows(sql`select id from billing_orders where status = 'pending'`), (rows) =>
    rows.map(({ id }) => id)
  ),
  unblock: (accountId: string) =>
    sql`
      update billing_accounts set blocked_at = null where account_id = ${accountId} and blocked_at is not null
      returning account_id`.pipe(
      Effect.map((rows) => rows.length > 0),
      Effect.orDie
    )
})

export const layer: Layer.Layer<BillingBooks, never, SqlClient.SqlClient | Plans | StoreClock> = Layer.effect(
  BillingBooks,
  Effect.gen(function* () {
    const deps: Deps = { sql: yield* SqlClient.SqlClient, clock: yield* StoreClock, plans: yield* Plans }
    return BillingBooks.of({
      account: account(deps),
      keepCustomer: keepCustomer(deps),
      bookSubscriptions: bookSubscriptions(deps),
      bookOrder: bookOrder(deps),
      bookDispute: bookDispute(deps),
      ...reads(deps),
      ...BillingInbox.make(deps.sql, deps.clock)
    })
  })
)
